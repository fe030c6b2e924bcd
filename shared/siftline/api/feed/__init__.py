"""The ranked feed, as JSON and as Atom."""
