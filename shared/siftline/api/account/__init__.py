"""The caller: account, tokens, usage, export."""
