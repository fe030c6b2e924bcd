"""What has no word of the field in it: database, clock, errors, log, metrics, AWS clients, child processes."""
