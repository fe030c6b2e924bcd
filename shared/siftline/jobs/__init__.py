"""How a job lives: store, publish, consume, sweep. PostgreSQL knows what must be done; SQS says when to try."""
