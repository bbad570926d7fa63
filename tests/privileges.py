"""What this machine lets a test do: some faults need the rights of root to be made."""

import socket
import subprocess
from errno import EADDRINUSE
from functools import cache
from tempfile import TemporaryDirectory


@cache
def may_mount() -> bool:
    """In a namespace of its own, so that nothing is left behind."""
    with TemporaryDirectory() as place:
        tried = ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place]
        try:
            return subprocess.run(tried, capture_output=True, check=False, timeout=60).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False


@cache
def may_answer_names(address: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        try:
            tried.bind((address, 53))
        except OSError as error:
            return error.errno == EADDRINUSE  # by another process of these tests, which asks the same
    return True
