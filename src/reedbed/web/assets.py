"""Serve the built CSS, JavaScript and images: content-hashed names, cached for a year, compressed once."""

import gzip
import mimetypes
import re
from functools import cache
from pathlib import Path
from typing import Any

import brotli
import orjson
from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import NotFound
from reedbed.domain.languages import direction_of, negotiate_language
from reedbed.web.i18n import catalogue, languages, marked

DIST = Path(__file__).parent / "assets" / "dist"
FOREVER = "public, max-age=31536000, immutable"
A_DAY = "public, max-age=86400"
_HASHED = re.compile(r"-[A-Z0-9]{8}\.\w+\Z")
"""The name that the build gives to what never changes."""

router = APIRouter(include_in_schema=False)

mimetypes.add_type("application/manifest+json", ".webmanifest")
mimetypes.add_type("text/javascript", ".js")


def asset(name: str) -> str:
    """The URL of a built file, by its source name."""
    return f"/assets/{_manifest().get(name, name)}"


@router.get("/assets/{name}")
async def assets(request: Request, name: str) -> Response:
    return _file(request, name, FOREVER if _HASHED.search(name) else A_DAY)


@router.get("/manifest.webmanifest")
async def web_manifest(request: Request) -> Response:
    """In the language of the browser: it fetches this without cookies."""
    language = negotiate_language(request.headers.get("accept-language", ""), languages())
    headers = {"Cache-Control": A_DAY, "Vary": "Accept-Language"}
    return Response(_web_manifest(language), 200, headers, "application/manifest+json")


_MANIFEST_TEXTS = (
    *(marked("A calm reader for feeds, newsletters and sites."), marked("Unread"), marked("Later"), marked("Add")),
)


@cache
def _web_manifest(language: str) -> bytes:
    if "manifest.webmanifest" not in _served_files():
        raise NotFound("There is nothing at this address.")
    manifest: dict[str, Any] = orjson.loads((DIST / "manifest.webmanifest").read_bytes())
    texts = {text: catalogue(language).gettext(text) for text in _MANIFEST_TEXTS}
    manifest |= {"lang": language, "dir": direction_of(language), "description": texts[manifest["description"]]}
    for shortcut in manifest["shortcuts"]:
        shortcut["name"] = texts[shortcut["name"]]
    return orjson.dumps(manifest)


@router.get("/sw.js")
async def service_worker(request: Request) -> Response:
    return _file(request, "sw.js", "no-cache")


def _file(request: Request, name: str, cache_control: str) -> Response:
    if name not in _served_files():
        raise NotFound("There is nothing at this address.")
    encoding = _encoding(request.headers.get("accept-encoding", ""))
    body, encoding = _content(name, encoding)
    headers = {"Cache-Control": cache_control, "Vary": "Accept-Encoding"}
    if encoding:
        headers["Content-Encoding"] = encoding
    if name != "sw.js":
        headers["Content-Security-Policy"] = "default-src 'none'"  # Stricter than that of pages, and short.
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Response(body, 200, headers, media_type)


def _encoding(accepted: str) -> str:
    return "br" if "br" in accepted else "gzip" if "gzip" in accepted else ""


@cache
def _content(name: str, encoding: str) -> tuple[bytes, str]:
    body = (DIST / name).read_bytes()
    if not encoding or name.endswith((".png", ".woff2")) or len(body) < 512:
        return body, ""
    return (brotli.compress(body) if encoding == "br" else gzip.compress(body, 9)), encoding


@cache
def _manifest() -> dict[str, str]:
    file = DIST / "manifest.json"
    return orjson.loads(file.read_bytes()) if file.exists() else {}


@cache
def _served_files() -> frozenset[str]:
    """Only files of the build are served: a path from a request never reaches the disk."""
    return frozenset(_manifest().values())
