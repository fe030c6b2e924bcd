"""What a language model is asked about a text, and what of its reply is used."""
