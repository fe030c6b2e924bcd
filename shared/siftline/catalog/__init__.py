"""Tables that several rooms share, one store each."""
