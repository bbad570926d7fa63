"""Hostile markup becomes reading. `clean_html` is the door."""

from reedbed.ingest.sanitize.cleaner import clean_html

__all__ = ["clean_html"]
