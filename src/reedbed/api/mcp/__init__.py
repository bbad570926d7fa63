"""The Model Context Protocol over HTTP, for AI assistants."""
