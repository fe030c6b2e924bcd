"""One poll: what it brought, and when the next one is due."""
