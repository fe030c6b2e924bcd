"""A page's bytes into text and metadata."""
