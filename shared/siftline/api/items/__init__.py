"""What the caller holds: listing, saving, showing, changing; and whom it is about."""
