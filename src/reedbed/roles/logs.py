"""Logs are facts with fields: coloured text on a terminal, JSON lines elsewhere."""

import logging
import sys
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import structlog
from pydantic.warnings import UnsupportedFieldAttributeWarning
from structlog.typing import Processor

from reedbed.domain.errors import CannotStart


def set_up_logs(level: str, form: str, file: Path | None = None, *, also: Sequence[Processor] = ()) -> None:
    """`also` sees every line as it is told, before it becomes text."""
    out = _opened(file) if file else sys.stderr
    as_text = form == "text" or (form == "auto" and out.isatty())
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            *also,
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(
                colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
            if as_text
            else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=lambda *_: _LastingLogger(out),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=max(number, logging.WARNING), stream=out)
    # FastAPI silences this one itself, but by a way that fails when two threads read signatures at once.
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)
    # It warns of every broken form, which any stranger may send as often as he likes.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)


@contextmanager
def logs_of_a_command() -> Generator[None]:
    """A command says itself what went well: its log is trouble alone, and never among what it prints."""
    before = structlog.get_config()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=lambda *_: _LastingLogger(sys.stderr),
    )
    try:
        yield
    finally:
        structlog.configure(**before)


def _opened(file: Path) -> TextIO:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return file.open("a", encoding="utf-8")
    except OSError as error:
        raise CannotStart(
            f"The log cannot be written to {file}: {error.strerror}. Change REEDBED_LOG_FILE or leave it out."
        ) from None


class _LastingLogger(structlog.PrintLogger):
    """A log on a full disk, or one whose reader has gone, loses lines. It must not end what they tell of."""

    def msg(self, message: str) -> None:
        with suppress(OSError, ValueError):
            super().msg(message)

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg
