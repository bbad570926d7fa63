"""Errors of ours to Sentry, where the operator has named one.

A report is made of what the program itself says: the kind of the exception, the lines of code it came
through, and ids. Neither the words of the exception nor the values of variables are in it, because they may
be those of a feed, a letter or a person.
"""

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast

from structlog.typing import EventDict, Processor, WrappedLogger

from reedbed import __version__
from reedbed.domain.errors import CannotStart
from reedbed.settings import Settings

CLOSE_SECONDS = 2.0
TOLD = ("request", "job", "kind", "feed")
"""The fields of a line of the log that are ids or kinds of our own."""

_MISSING = (
    "REEDBED_SENTRY_DSN needs the Sentry package. Install it with pip install 'reedbed[sentry]', "
    "or leave the setting out."
)


class Reports:
    """Every line of the log that is an error becomes a report."""

    def __init__(self, client: Any, describe: Callable[..., Any]) -> None:
        self._client = client
        self._describe = describe

    def processor(self, _: WrappedLogger, method: str, line: EventDict) -> EventDict:
        if method in ("error", "exception", "critical"):
            with suppress(Exception):  # to report is never worth a second fault
                self._client.capture_event(self._event(line))
        return line

    def close(self) -> None:
        self._client.close(timeout=CLOSE_SECONDS)

    def _event(self, line: Mapping[str, Any]) -> dict[str, Any]:
        event: dict[str, Any] = {}
        if (raised := _raised(line.get("exc_info"))) is not None:
            event, _ = self._describe(raised, client_options=self._client.options)
            for one in event["exception"]["values"]:
                one["value"] = ""
        tags = {name: str(line[name]) for name in TOLD if name in line}
        return {**event, "level": "error", "logentry": {"message": str(line["event"])}, "tags": tags}


@contextmanager
def reporting(settings: Settings) -> Generator[list[Processor]]:
    """What has to see the lines of the log; without a Sentry, nothing."""
    dsn = settings.sentry_dsn.get_secret_value()
    if not dsn:
        yield []
        return
    reports = _open(dsn, settings.sentry_environment)
    try:
        yield [reports.processor]
    finally:
        reports.close()


def _open(dsn: str, environment: str) -> Reports:
    try:
        from sentry_sdk import Client
        from sentry_sdk.utils import BadDsn, event_from_exception
    except ImportError as error:
        raise CannotStart(_MISSING) from error
    try:
        client = Client(
            dsn=dsn,
            release=f"reedbed@{__version__}",
            environment=environment,
            default_integrations=False,
            auto_enabling_integrations=False,
            include_local_variables=False,
            send_default_pii=False,
            send_client_reports=False,
            auto_session_tracking=False,
            max_breadcrumbs=0,
        )
    except BadDsn as error:
        raise CannotStart(f"REEDBED_SENTRY_DSN is not an address Sentry gives: {error}.") from error
    return Reports(client, event_from_exception)


def _raised(told: Any) -> BaseException | None:
    """As `exc_info` may be told: the exception, its triple, or true for the one in hand."""
    if isinstance(told, BaseException):
        return told
    if isinstance(told, tuple):
        return cast(BaseException | None, told[1])
    return sys.exception() if told else None
