"""Search by meaning and words."""
