"""What the clock starts: polls, the sweep, resolutions, clusterings, clean-up. One tick never touches another."""
