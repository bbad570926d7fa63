"""`reedbed`: commands for people."""

from reedbed.cli.root import main

__all__ = ["main"]
