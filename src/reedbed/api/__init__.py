"""The JSON API (`/api/v1`), reader app APIs, MCP and other endpoints for programs."""
