"""Words, names, scripts, dates: what strangers' text is made of."""
