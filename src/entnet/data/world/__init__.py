"""Stories of `world`: all that happens in bAbI's house in one story, any question at any moment."""
