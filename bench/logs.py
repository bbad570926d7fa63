"""Logs as a server writes them, to where nobody has to read them."""

import os
from pathlib import Path

from reedbed.roles.observability import set_up_logs


def write_logs_away() -> None:
    """What is not set up is told in colours on the terminal, which costs far more than what a server does."""
    set_up_logs("info", "json", Path(os.devnull))
