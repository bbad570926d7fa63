"""Loops only: each one asks the store what is due and a service to do it."""

from reedbed.worker.loops import work

__all__ = ["work"]
