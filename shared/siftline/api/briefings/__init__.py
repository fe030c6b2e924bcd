"""Briefings, editions and the mail addresses they go to."""
