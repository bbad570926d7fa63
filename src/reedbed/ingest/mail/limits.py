"""How much of one mail is read."""

MAX_DEPTH = 20
MAX_PARTS = 300
MAX_HEADER_BYTES = 256 * 1024
MAX_HEADER = 4_000
MAX_TEXT = 2_000_000
"""Characters of one body; cleaning reads less still."""
MAX_PICTURE = 3 * 1024 * 1024
MAX_PICTURES = 50
MAX_PICTURES_BYTES = 12 * 1024 * 1024
