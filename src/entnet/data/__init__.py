"""Stories and where they come from."""
