"""Reedbed: a calm, self-hosted reader."""

__version__ = "0.1.0"
