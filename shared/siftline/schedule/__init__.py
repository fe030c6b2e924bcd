"""What the clock starts: due sources, the sweep, nightly clusterings, clean-up. One tick never touches another."""
