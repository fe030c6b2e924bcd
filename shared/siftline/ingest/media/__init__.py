"""Videos and audio: what they state, and their words."""
