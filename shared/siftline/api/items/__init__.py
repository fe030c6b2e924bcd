"""What the caller holds: listing, saving, showing, changing."""
