"""A process for mails that may hang or exhaust a parser: `python -m reedbed.ingest.mail.sandbox`.

It reads the mail from standard input and writes the outcome to standard output. The parent may kill it.
"""

import sys

from reedbed.ingest.mail.mime import read_mime
from reedbed.ingest.mail.wire import packed
from reedbed.ingest.sandbox_limits import accept_limits

MEMORY = 1 << 30


def main() -> None:
    accept_limits(MEMORY)
    sys.stdout.buffer.write(packed(read_mime(sys.stdin.buffer.read())))


if __name__ == "__main__":
    main()
