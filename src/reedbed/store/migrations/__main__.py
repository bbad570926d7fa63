"""Migrates the database whose address stands on standard input; says why it could not, and ends with 1."""

import asyncio
import sys

from reedbed.domain.errors import CannotStart
from reedbed.store.migrations import migrate

try:
    asyncio.run(migrate(sys.stdin.read()))
except CannotStart as refusal:
    sys.exit(refusal.message)
