"""A user's contents grouped into labelled stories whose ids last from run to run."""
