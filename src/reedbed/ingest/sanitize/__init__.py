"""Sanitize untrusted HTML. `clean_html` is the public entry point."""

from reedbed.ingest.sanitize.cleaner import clean_html

__all__ = ["clean_html"]
