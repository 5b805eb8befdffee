"""The paper's experiments: a preset a table, the sweep that runs it, the report that shows it."""
