"""A source's feed in: fetched under its stored validators, parsed in a child that can be killed, new entries saved."""
