"""Entries from pages without a feed."""
