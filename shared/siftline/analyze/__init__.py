"""Vector, topics, summary, tags and language of a stored text."""
