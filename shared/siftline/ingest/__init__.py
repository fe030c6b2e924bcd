"""Ingest: from an address to a stored text. A page is fetched, read for text and metadata, and told from others."""
