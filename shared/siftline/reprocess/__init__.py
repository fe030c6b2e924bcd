"""Contents read again: other versions, missing vectors."""
