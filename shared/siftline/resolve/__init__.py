"""Who the organisations are that texts name: their temporary ids become those that a provider gives them."""
