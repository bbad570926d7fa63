"""A process for mails that may hang or exhaust a parser: `python -m reedbed.ingest.mail.sandbox`.

It reads the mail from standard input and writes the outcome to standard output. The parent may kill it.
"""

import resource
import sys

from reedbed.ingest.mail.mime import read_mime
from reedbed.ingest.mail.wire import packed

CPU_SECONDS = 5
MEMORY = 1 << 30


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    sys.stdout.buffer.write(packed(read_mime(sys.stdin.buffer.read())))


if __name__ == "__main__":
    main()
