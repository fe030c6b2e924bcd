"""What has no word of the field in it: database, clock, errors, log, metrics, traces, AWS clients, child processes."""
