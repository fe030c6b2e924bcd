"""Who a text is about: names found by rules or a model, and told apart."""
