"""Makes editions at each reader's own time, freezes them and delivers them."""
