"""A feed's bytes into entries, and which of them are new."""
