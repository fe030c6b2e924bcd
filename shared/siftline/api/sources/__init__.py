"""Sources, folders and OPML."""
