"""What has no word of the field in it: database, clock, errors, log, HTTP, AWS and vector clients."""
