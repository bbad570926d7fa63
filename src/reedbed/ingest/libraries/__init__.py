"""What other readers give out: lists of starred entries, and what Miniflux answers. All may be hostile."""
