"""What comes first in search and in a user's feed, and what resembles an item."""
