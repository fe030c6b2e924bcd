"""What comes first in search, and what resembles an item; vectors whose content is gone are removed."""
