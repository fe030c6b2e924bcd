"""A text by itself: its language, sentences, summary and tags."""
