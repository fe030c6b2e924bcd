"""Which contents are one text."""
