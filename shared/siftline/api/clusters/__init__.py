"""The caller's stories and their map."""
