"""Tables and charts from the lines in results/, beside the paper's figures."""
