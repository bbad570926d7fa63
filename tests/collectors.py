"""What an operator's collectors are: an OpenTelemetry collector and a Sentry, on loopback."""

import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import brotli
import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

UNPACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, "gzip": gzip.decompress, "br": brotli.decompress}


@dataclass
class Collector:
    url: str
    received: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    """Path, headers and unpacked body of all that was sent."""

    @property
    def everything(self) -> bytes:
        return b"\n".join(path.encode() + repr(headers).encode() + body for path, headers, body in self.received)

    def spans(self) -> dict[str, dict[str, Any]]:
        """The last of each name, with what was noted."""
        found: dict[str, dict[str, Any]] = {}
        for _, _, body in self.received:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    found |= {span.name: _noted(span) for span in scope.spans}
        return found

    def reports(self) -> list[dict[str, Any]]:
        """The events in the envelopes."""
        lines = [line for _, _, body in self.received for line in body.splitlines()]
        return [event for line in lines if "level" in (event := orjson.loads(line))]


@contextmanager
def collector() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            unpack = UNPACK[self.headers.get("Content-Encoding", "")]
            taken.received.append((self.path, dict(self.headers), unpack(body)))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        taken = Collector(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield taken
        finally:
            server.shutdown()
            thread.join()


def _noted(span: Any) -> dict[str, Any]:
    return {noted.key: noted.value.string_value or noted.value.int_value for noted in span.attributes}
