"""One typed settings class a function; the only reader of the environment."""
