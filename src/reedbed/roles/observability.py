"""Logs, Sentry reports and OpenTelemetry spans."""

import asyncio
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

import structlog
from pydantic.warnings import UnsupportedFieldAttributeWarning
from structlog.typing import EventDict, Processor, WrappedLogger

from reedbed import __version__
from reedbed.domain.errors import CannotStart
from reedbed.services.runtime import NO_TRACER, Fact, Tracer, TraceSpan
from reedbed.settings import Settings


def set_up_logs(level: str, form: str, file: Path | None = None, *, also: Sequence[Processor] = ()) -> None:
    """`also` gets every log event before it is rendered."""
    out = _open_log(file) if file else sys.stderr
    as_text = form == "text" or (form == "auto" and out.isatty())
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            *also,
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback)
            if as_text
            else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=lambda *_: _SafeLogger(out),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=max(number, logging.WARNING), handlers=[_LibraryLogs()])
    # FastAPI silences this one itself, but in a way that fails if two threads read signatures at once.
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)
    # It warns about every malformed form, and anybody can send any number of them.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)


@contextmanager
def command_logging() -> Generator[None]:
    """A command prints its own results: it logs only warnings and errors, on stderr."""
    before = structlog.get_config()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=lambda *_: _SafeLogger(sys.stderr),
    )
    try:
        yield
    finally:
        structlog.configure(**before)


def _open_log(file: Path) -> TextIO:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return file.open("a", encoding="utf-8")
    except OSError as error:
        raise CannotStart(
            f"The log cannot be written to {file}: {error.strerror}. Change REEDBED_LOG_FILE or leave it out."
        ) from None


class _LibraryLogs(logging.Handler):
    """Writes what uvicorn and other libraries log in the format of our own log."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger(library=record.name)
        log.log(record.levelno, record.getMessage(), exc_info=record.exc_info)


class _SafeLogger(structlog.PrintLogger):
    """Drops lines if the disk is full or the reader is gone: logging must not break the logged work."""

    def msg(self, message: str) -> None:
        with suppress(OSError, ValueError):
            super().msg(message)

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg


# --- Sentry

CLOSE_SECONDS = 2.0
REPORTED_FIELDS = ("request", "job", "kind", "feed")
"""The log fields that are sent: only our own ids and kinds."""

_NO_SENTRY = (
    "REEDBED_SENTRY_DSN needs the Sentry package. Install it with pip install 'reedbed[sentry]', "
    "or leave the setting out."
)


class Reports:
    """Sends every log event of level error as a report."""

    def __init__(self, client: Any, describe: Callable[..., Any]) -> None:
        self._client = client
        self._describe = describe

    def processor(self, _: WrappedLogger, method: str, line: EventDict) -> EventDict:
        # Messages of libraries may quote what a client sent.
        if method in ("error", "exception", "critical") and "library" not in line:
            with suppress(Exception):  # reporting must never cause another error
                self._client.capture_event(self._event(line))
        return line

    def close(self) -> None:
        self._client.close(timeout=CLOSE_SECONDS)

    def _event(self, line: Mapping[str, Any]) -> dict[str, Any]:
        event: dict[str, Any] = {}
        if (exception := _exception_of(line.get("exc_info"))) is not None:
            event, _ = self._describe(exception, client_options=self._client.options)
            for value in event["exception"]["values"]:
                value["value"] = ""
        tags = {name: str(line[name]) for name in REPORTED_FIELDS if name in line}
        return {**event, "level": "error", "logentry": {"message": str(line["event"])}, "tags": tags}


@contextmanager
def reporting(settings: Settings) -> Generator[list[Processor]]:
    """The log processors that report to Sentry; none without a DSN."""
    dsn = settings.sentry_dsn.get_secret_value()
    if not dsn:
        yield []
        return
    reports = _open_sentry(dsn, settings.sentry_environment)
    try:
        yield [reports.processor]
    finally:
        reports.close()


def _open_sentry(dsn: str, environment: str) -> Reports:
    try:
        from sentry_sdk import Client
        from sentry_sdk.utils import BadDsn, event_from_exception
    except ImportError as error:
        raise CannotStart(_NO_SENTRY) from error
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


def _exception_of(exc_info: Any) -> BaseException | None:
    """`exc_info` may be an exception, its triple, or true for the current exception."""
    if isinstance(exc_info, BaseException):
        return exc_info
    if isinstance(exc_info, tuple):
        return cast(BaseException | None, exc_info[1])
    return sys.exception() if exc_info else None


# --- OpenTelemetry

EXPORT_SECONDS = 3
TRACING_SHUTDOWN_SECONDS = 3
MAX_FACT_LENGTH = 200

_NO_OPENTELEMETRY = (
    "REEDBED_OTEL_ENDPOINT needs the OpenTelemetry packages. Install them with pip install 'reedbed[otel]', "
    "or leave the setting out."
)


def open_tracer(settings: Settings, name: str, stack: AsyncExitStack) -> Tracer:
    """When the stack closes, unsent spans get `TRACING_SHUTDOWN_SECONDS` more."""
    if not settings.otel_endpoint:
        return NO_TRACER
    # Imported late: half a second of CPU and 20 MB that few installations need.
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import SpanLimits, TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
    except ImportError as error:
        raise CannotStart(_NO_OPENTELEMETRY) from error
    attributes = {"service.name": "reedbed", "service.version": __version__, "service.instance.id": name}
    provider = TracerProvider(
        resource=Resource(attributes),
        sampler=TraceIdRatioBased(settings.otel_sample),
        span_limits=SpanLimits(max_attribute_length=MAX_FACT_LENGTH),
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(
        f"{settings.otel_endpoint}/v1/traces", headers=_headers(settings), timeout=EXPORT_SECONDS
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    stack.push_async_callback(_close, provider)
    return OtelTracer(provider.get_tracer("reedbed", __version__))


class OtelTracer:
    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    @contextmanager
    def span(self, name: str, **facts: Fact) -> Generator[TraceSpan]:
        with self._tracer.start_as_current_span(
            name, attributes=_attributes(facts), record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield _Span(span)
            except Exception as error:
                # Only the type: the message may contain text of a feed or a user.
                span.set_attribute("error.type", type(error).__name__)
                raise


class _Span:
    def __init__(self, span: Any) -> None:
        self._span = span

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def note(self, **facts: Fact) -> None:
        self._span.set_attributes(_attributes(facts))


_CONVENTIONS = {"method": "http.request.method", "route": "http.route"}


def _attributes(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    attributes = {_CONVENTIONS.get(name, f"reedbed.{name}"): fact for name, fact in facts.items()}
    if "http.route" in attributes:
        attributes["http.response.status_code"] = attributes.pop("reedbed.status")
    return attributes


def _headers(settings: Settings) -> dict[str, str]:
    pairs = settings.otel_headers.get_secret_value().split(",")
    return {name.strip().lower(): value.strip() for name, _, value in (pair.partition("=") for pair in pairs)}


async def _close(provider: Any) -> None:
    """An unresponsive collector must not delay the shutdown: the daemon thread ends with the process."""
    thread = threading.Thread(target=provider.shutdown, daemon=True)
    thread.start()
    await asyncio.to_thread(thread.join, TRACING_SHUTDOWN_SECONDS)
