"""Spans to an OpenTelemetry collector, where the operator has named one."""

import asyncio
import threading
from collections.abc import Generator, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import Any

from reedbed import __version__
from reedbed.domain.errors import CannotStart
from reedbed.services.tracing import NO_TRACER, Fact, Span, Tracer
from reedbed.settings import Settings

EXPORT_SECONDS = 3
CLOSE_SECONDS = 3
LONGEST_FACT = 200

_MISSING = (
    "REEDBED_OTEL_ENDPOINT needs the OpenTelemetry packages. Install them with pip install 'reedbed[otel]', "
    "or leave the setting out."
)


def open_tracer(settings: Settings, name: str, stack: AsyncExitStack) -> Tracer:
    """What has not been sent when the stack ends gets a moment more, and no longer."""
    if not settings.otel_endpoint:
        return NO_TRACER
    # Loaded only here: half a second of CPU and 20 MB that hardly anybody needs.
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import SpanLimits, TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
    except ImportError as error:
        raise CannotStart(_MISSING) from error
    about = {"service.name": "reedbed", "service.version": __version__, "service.instance.id": name}
    provider = TracerProvider(
        resource=Resource(about),
        sampler=TraceIdRatioBased(settings.otel_sample),
        span_limits=SpanLimits(max_attribute_length=LONGEST_FACT),
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
    def span(self, name: str, **facts: Fact) -> Generator[Span]:
        with self._tracer.start_as_current_span(
            name, attributes=_named(facts), record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield _Span(span)
            except Exception as error:
                # Of an exception only its kind: its words may be those of a feed or a person.
                span.set_attribute("error.type", type(error).__name__)
                raise


class _Span:
    def __init__(self, span: Any) -> None:
        self._span = span

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def note(self, **facts: Fact) -> None:
        self._span.set_attributes(_named(facts))


_CONVENTIONS = {
    "method": "http.request.method",
    "route": "http.route",
}


def _named(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    named = {_CONVENTIONS.get(name, f"reedbed.{name}"): fact for name, fact in facts.items()}
    if "http.route" in named:
        named["http.response.status_code"] = named.pop("reedbed.status")
    return named


def _headers(settings: Settings) -> dict[str, str]:
    pairs = settings.otel_headers.get_secret_value().split(",")
    return {name.strip().lower(): value.strip() for name, _, value in (pair.partition("=") for pair in pairs)}


async def _close(provider: Any) -> None:
    """A collector that does not answer must not hold up the end: the thread ends with the process."""
    closing = threading.Thread(target=provider.shutdown, daemon=True)
    closing.start()
    await asyncio.to_thread(closing.join, CLOSE_SECONDS)
