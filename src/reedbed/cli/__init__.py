"""The `reedbed` command line."""

from reedbed.cli.main import main

__all__ = ["main"]
