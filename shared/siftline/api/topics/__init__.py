"""A user's own topics."""
