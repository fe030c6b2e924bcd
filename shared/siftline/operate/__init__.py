"""What operators do: migrations, users, credits, dead letters, reprocessing. Typed here, or run by ``operate``."""
