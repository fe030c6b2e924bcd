"""What a text is about: the shipped topics and those of a user's own."""
