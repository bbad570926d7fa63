"""Background loops: each asks the store what is due and calls a service to do it."""

from reedbed.worker.loops import work

__all__ = ["work"]
