"""Logs are facts with fields: coloured text on a terminal, JSON lines elsewhere."""

import logging
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

import structlog
from pydantic.warnings import UnsupportedFieldAttributeWarning
from structlog.typing import Processor


def set_up_logs(level: str, form: str, also: Sequence[Processor] = ()) -> None:
    """`also` sees every line as it is told, before it becomes text."""
    as_text = form == "text" or (form == "auto" and sys.stderr.isatty())
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            *also,
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
            if as_text
            else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=_LastingLogger,
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=max(number, logging.WARNING), stream=sys.stderr)
    # FastAPI silences this one itself, but by a way that fails when two threads read signatures at once.
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)
    # It warns of every broken form, which any stranger may send as often as he likes.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)


class _LastingLogger(structlog.PrintLogger):
    """A log on a full disk, or one whose reader has gone, loses lines. It must not end what they tell of."""

    def __init__(self, *_: object) -> None:
        super().__init__(sys.stderr)

    def msg(self, message: str) -> None:
        with suppress(OSError, ValueError):
            super().msg(message)

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg
