"""The organisations, people and places that the caller's items name."""
