"""Certificates that are wrong in every usual way, made on the spot with the openssl command."""

import ssl
import subprocess
from pathlib import Path

import pytest

from reedbed.domain.refresh.outcomes import Failed, Fetched, FetchRequest
from reedbed.ingest.http.client import Fetcher
from tests.faulty_servers import MisbehavingServer

from .conftest import LOOPBACK_ALLOWED


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def _certificate(folder: Path, *, name: str = "IP:127.0.0.1", dates: tuple[str, str] = ()) -> Path:
    """A key and a self-signed certificate in one file."""
    request, key, made, both = (folder / part for part in ("request.pem", "key.pem", "cert.pem", "both.pem"))
    _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
             "/CN=reeds", "-addext", f"subjectAltName={name}", "-keyout", key, "-out", request)  # fmt: skip
    if dates:
        _sign_for(folder, request, key, made, dates)
    else:
        _openssl(
            "x509", "-req", "-in", request, "-signkey", key, "-copy_extensions", "copy", "-days", "2", "-out", made
        )
    both.write_bytes(key.read_bytes() + made.read_bytes())
    return both


def _sign_for(folder: Path, request: Path, key: Path, made: Path, dates: tuple[str, str]) -> None:
    """Only `openssl ca` takes a start and an end date in every version."""
    (folder / "index.txt").write_text("")
    (folder / "serial").write_text("01")
    (folder / "ca.cnf").write_text(
        f"[ca]\ndefault_ca=d\n[d]\ndatabase={folder}/index.txt\nserial={folder}/serial\nnew_certs_dir={folder}\n"
        "default_md=sha256\npolicy=p\ncopy_extensions=copy\nunique_subject=no\n[p]\ncommonName=supplied\n"
    )
    _openssl("ca", "-batch", "-config", folder / "ca.cnf", "-selfsign", "-keyfile", key, "-in", request,
             "-startdate", dates[0], "-enddate", dates[1], "-out", made, "-notext")  # fmt: skip


async def _fetch_from(certificate: Path, *, trusted: bool) -> object:
    offered = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    offered.load_cert_chain(certificate)
    trust = ssl.create_default_context(cafile=str(certificate)) if trusted else None
    fetcher = Fetcher(LOOPBACK_ALLOWED, timeout=30.0, ssl_context=trust)
    async with MisbehavingServer(ssl_context=offered) as server:
        try:
            return await fetcher.fetch(FetchRequest(server.url("fine")))
        finally:
            await fetcher.close()


async def test_a_good_certificate_is_accepted(tmp_path: Path) -> None:
    assert isinstance(await _fetch_from(_certificate(tmp_path), trusted=True), Fetched)


async def test_a_certificate_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    outcome = await _fetch_from(_certificate(tmp_path), trusted=False)
    assert isinstance(outcome, Failed) and outcome.kind == "temporary_error"
    assert outcome.message == "The certificate of 127.0.0.1 is not valid: self-signed."


async def test_a_certificate_for_another_host_is_refused(tmp_path: Path) -> None:
    outcome = await _fetch_from(_certificate(tmp_path, name="DNS:reeds.example.org"), trusted=True)
    assert isinstance(outcome, Failed)
    assert outcome.message == "The certificate of 127.0.0.1 is not valid: issued for another address."


@pytest.mark.parametrize(
    ("dates", "words"),
    [(("200101000000Z", "210101000000Z"), "expired"), (("20960101000000Z", "20970101000000Z"), "not valid yet")],
)
async def test_a_certificate_out_of_its_time_is_refused(dates: tuple[str, str], words: str, tmp_path: Path) -> None:
    outcome = await _fetch_from(_certificate(tmp_path, dates=dates), trusted=True)
    assert isinstance(outcome, Failed) and outcome.kind == "temporary_error"
    assert outcome.message == f"The certificate of 127.0.0.1 is not valid: {words}."


async def test_plain_http_where_tls_is_expected_is_a_failure(server: MisbehavingServer, impatient: Fetcher) -> None:
    outcome = await impatient.fetch(FetchRequest(server.url("fine").replace("http:", "https:")))
    assert isinstance(outcome, Failed)
    assert outcome.kind == "temporary_error"


async def test_tls_where_plain_http_is_expected_is_a_failure(tmp_path: Path, fetcher: Fetcher) -> None:
    offered = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    offered.load_cert_chain(_certificate(tmp_path))
    async with MisbehavingServer(ssl_context=offered) as server:
        outcome = await fetcher.fetch(FetchRequest(server.url("fine").replace("https:", "http:")))
        assert isinstance(outcome, Failed)
        assert outcome.kind == "temporary_error"
