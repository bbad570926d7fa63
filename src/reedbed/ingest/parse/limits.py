"""How much of a document is believed. Every number is far above what an honest feed needs."""

MAX_BYTES = 10_000_000
"""After unpacking, as the fetcher's own cap."""

MAX_DEPTH = 200
MAX_ATTRIBUTES = 200
"""On one element."""
MAX_TAGS = 300_000
MAX_ENTITIES = 256
MAX_ENTITY_LENGTH = 1_000
MAX_ENTITY_GROWTH = 1_000_000
"""Bytes that a document's own entities may add to it."""

MAX_ENTRIES = 500
MAX_TITLE = 1_000
MAX_GUID = 1_000
MAX_URL = 4_096
MAX_CONTENT = 2_000_000
MAX_NAME = 300
MAX_DATE = 80
MAX_LIST = 50
"""Authors, categories or enclosures of one entry."""
