"""The safe client: every outgoing request, its addresses and its pace."""
