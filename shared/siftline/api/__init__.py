"""The HTTP API: routes by resource, who may call them, and problem documents for what goes wrong (docs/api.md)."""
