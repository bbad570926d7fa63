"""`reedbed`: commands for people."""

from reedbed.cli.main import main

__all__ = ["main"]
