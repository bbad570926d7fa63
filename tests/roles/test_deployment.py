"""The files in `deploy/` and beside it, tried with the programs that read them."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from reedbed.services.runtime import Metrics
from reedbed.settings import Settings
from tests import servers
from tests.conftest import give_up
from tests.processes import COMMAND, OWNER, PATIENCE, reedbed, run_once

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
SETTING = re.compile(r"\bREEDBED_[A-Z_]+\b")
SEPARATE_HTTP2 = (1, 25, 1)
"""Since this version of nginx, HTTP/2 is a directive of its own, `http2 on;`."""
GAUGES = {
    *("job_queue_depth", "feed_fetch_lag_seconds", "active_users_daily", "db_size_bytes", "db_pool_in_use"),
    *("db_pool_size", "health_problem", "sse_connections_active"),
}


def program(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin")
    if found is None:
        give_up(servers.Missing(f"There is no {name}: run 'make test-deps'."))
    return found


@pytest.mark.parametrize("file", ["Dockerfile", "compose.yaml", "fly.toml", *(str(f) for f in UNITS)])
def test_every_setting_that_a_file_names_exists(file: str) -> None:
    known = {f"REEDBED_{name.upper()}" for name in Settings.model_fields}
    assert set(SETTING.findall((ROOT / file).read_text())) <= known


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        text = unit.read_text().replace("/opt/reedbed/bin/reedbed", COMMAND)
        (tmp_path / unit.name).write_text(text)
    services = [str(tmp_path / unit.name) for unit in UNITS]
    said = subprocess.run(
        [program("systemd-analyze"), "verify", "--man=no", *services],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (said.returncode, [line for line in said.stderr.splitlines() if "reedbed" in line]) == (0, [])


@pytest.mark.parametrize("unit", [unit for unit in UNITS if unit.suffix == ".service"], ids=lambda unit: unit.name)
def test_a_unit_is_hardened(unit: Path) -> None:
    said = subprocess.run(
        [program("systemd-analyze"), "security", "--offline=true", "--threshold=25", "--no-pager", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert said.returncode == 0, said.stdout.splitlines()[-1:]


def test_nginx_passes_on_requests_streams_and_headers_and_keeps_metrics_to_itself(
    tmp_path: Path, free_port: int
) -> None:
    assert run_once("admin", "db", "migrate", cwd=tmp_path).returncode == 0
    settings = {"trusted_proxies": "127.0.0.1", "base_url": "https://reader.example.org"}
    with (
        reedbed("web", port=free_port, cwd=tmp_path, **settings) as app,
        nginx_before(app.port, tmp_path) as url,
        httpx.Client(verify=False, timeout=PATIENCE) as client,
    ):
        assert _agreed_protocol(url) == "h2"
        page = client.get(f"{url}/login")
        assert page.status_code == 200
        assert (
            page.headers["strict-transport-security"] and "script-src 'self'" in page.headers["content-security-policy"]
        )
        assert page.headers.get_list("x-frame-options") == ["DENY"]
        # The page holds the token of a form: only Reedbed itself, which hides its length, may compress it.
        refused = client.post(f"{url}/login", data={"email": "x"}, headers={"Accept-Encoding": "gzip"})
        assert len(refused.content) > 1_000 and "content-encoding" not in refused.headers
        assert client.get(f"{url}/metrics").status_code == 404
        assert client.get(f"{url}/readyz").json() == {"status": "ok", "db": "ok"}
        token = client.post(
            f"{url}/api/v1/auth/login",
            json={"email": OWNER["REEDBED_OWNER_EMAIL"], "password": OWNER["REEDBED_OWNER_PASSWORD"]},
        ).json()["token"]
        bearer = {"Authorization": f"Bearer {token}"}
        with client.stream("GET", f"{url}/api/v1/events", headers=bearer) as stream:
            assert next(stream.iter_lines()) == "retry: 2000"


def test_who_has_logged_in_at_the_portal_is_logged_in_here(tmp_path: Path, free_port: int) -> None:
    """The portal is a cookie that nginx turns into the header, over whatever the client sent itself."""
    assert run_once("admin", "db", "migrate", cwd=tmp_path).returncode == 0
    settings = {
        "trusted_proxies": "127.0.0.1",
        "base_url": "https://reader.example.org",
        "proxy_login_header": "Remote-Email",
        "proxy_login_create": "true",
    }
    portal = 'map $cookie_portal $named { default ""; ann "ann@example.org"; }\n'
    header = "proxy_set_header Remote-Email $named;"
    with (
        reedbed("web", port=free_port, cwd=tmp_path, **settings) as app,
        nginx_before(app.port, tmp_path, portal=portal, header=header) as url,
        httpx.Client(verify=False, timeout=PATIENCE, base_url=url) as client,
    ):
        forged = client.get("/login", headers={"Remote-Email": OWNER["REEDBED_OWNER_EMAIL"]})
        assert forged.status_code == 200 and "reedbed_session" not in client.cookies
        client.cookies.set("portal", "ann")
        assert client.get("/login?next=/unread").headers["location"] == "/unread"
        me = client.get("/api/v1/users/me", headers={"Remote-Email": OWNER["REEDBED_OWNER_EMAIL"]})
        assert me.json()["email"] == "ann@example.org"
        direct = httpx.get(f"http://127.0.0.1:{app.port}/login", headers={"Remote-Email": "ann@example.org"})
        assert direct.status_code == 303, "whoever reaches the port from a trusted address is believed"


def test_caddy_leaves_compressing_to_reedbed() -> None:
    lines = (DEPLOY / "Caddyfile").read_text().splitlines()
    assert not [line for line in lines if line.strip().startswith("encode")]


def test_compose_starts_each_part_after_what_it_needs() -> None:
    parts: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert set(parts) == {"migrate", "web", "worker", "db", "redis"}
    for name in ("web", "worker"):
        assert parts[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
        assert parts[name]["read_only"] and parts[name]["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for part in parts.values() for port in part.get("ports", []))
    for part in parts.values():
        assert set(part.get("depends_on", {})) <= set(parts)


def test_the_image_runs_as_nobody_special_and_says_how_it_is() -> None:
    stages = (ROOT / "Dockerfile").read_text().split("\nFROM ")
    assert len(stages) == 3 and "COPY --from=build" in stages[2]
    assert "\nUSER reedbed\n" in stages[2] and "HEALTHCHECK" in stages[2] and "/readyz" in stages[2]
    for source in re.findall(r"^COPY (?!--from)(\S+) ", (ROOT / "Dockerfile").read_text(), re.M):
        assert (ROOT / source).exists()
    needed = ("requirements", "src", "web", "tools", "pyproject.toml", "README.md", "LICENSE")
    assert all(f"!{name}" in (ROOT / ".dockerignore").read_text().splitlines() for name in needed)


def test_the_workflow_runs_the_tests_and_fly_watches_readiness() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]
    assert {"run": "make test"} in jobs["test"]["steps"] and jobs["test"]["env"]["CI"] == "true"
    fly = tomllib.loads((ROOT / "fly.toml").read_text())
    assert fly["http_service"]["checks"][0]["path"] == "/readyz"
    assert fly["mounts"][0]["destination"] == "/data"


def test_the_dashboard_and_the_rules_ask_for_metrics_that_exist() -> None:
    board = json.loads((DEPLOY / "grafana" / "reedbed.json").read_text())
    rules = yaml.safe_load((DEPLOY / "reedbed-rules.yml").read_text())["groups"][0]["rules"]
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [rule["expr"] for rule in rules if not rule["expr"].startswith("up{")]
    counted = {metric.name for metric in Metrics().counted()}
    for expression in asked:
        names = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", expression)) - {"histogram_quantile", "rate_interval"}
        plain = {name.removesuffix("_bucket") for name in names} - {"__rate_interval"}
        assert plain and plain <= counted | GAUGES, expression
    assert counted <= {name for name in counted if any(name in expression for expression in asked)}


@contextmanager
def nginx_before(port: int | None, folder: Path, *, portal: str = "", header: str = "") -> Iterator[str]:
    """Real nginx with the site as it is, but for its ports, its certificate, the address behind and a portal."""
    https, http = servers.free_port(), servers.free_port()
    site = portal + (DEPLOY / "nginx.conf").read_text()
    for old, new in {
        "    proxy_set_header Host $host;\n": f"    proxy_set_header Host $host;\n    {header}\n",
        "127.0.0.1:8080": f"127.0.0.1:{port}",
        "    listen [::]:80;\n": "",
        "    listen [::]:443 ssl http2;\n": "",
        "listen 80;": f"listen 127.0.0.1:{http};",
        "listen 443 ": f"listen 127.0.0.1:{https} ",
        "/etc/letsencrypt/live/reader.example.org": str(folder),
    }.items():
        assert old in site
        site = site.replace(old, new)
    _make_certificate(folder)
    temp = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    whole = folder / "nginx.conf"
    whole.write_text(
        f"{user}daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temp}{site}}}\n"
    )
    command = [program("nginx"), "-c", str(whole), "-p", str(folder), "-e", str(folder / "nginx.log")]
    warnings = _warnings_of(command)
    if _nginx_version(command[0]) >= SEPARATE_HTTP2:
        assert all('"listen ... http2" directive is deprecated' in line for line in warnings), warnings
        _follow_the_comment_about_http2(whole)
        warnings = _warnings_of(command)
    assert warnings == []
    with subprocess.Popen(command) as running:
        try:
            _wait_for(f"https://127.0.0.1:{https}/healthz")
            yield f"https://127.0.0.1:{https}"
        finally:
            running.terminate()


def _warnings_of(command: list[str]) -> list[str]:
    tested = subprocess.run([*command, "-t"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert tested.returncode == 0, tested.stderr
    return [line for line in tested.stderr.splitlines() if "[warn]" in line]


def _nginx_version(nginx: str) -> tuple[int, ...]:
    answer = subprocess.run([nginx, "-v"], capture_output=True, text=True, timeout=PATIENCE, check=True)
    return tuple(int(part) for part in re.findall(r"nginx/(\d+)\.(\d+)\.(\d+)", answer.stderr)[0])


def _follow_the_comment_about_http2(file: Path) -> None:
    site = file.read_text()
    assert " ssl http2;" in site and "# http2 on;" in site
    file.write_text(site.replace(" ssl http2;", " ssl;").replace("# http2 on;", "http2 on;"))


def _agreed_protocol(url: str) -> str | None:
    """What nginx chooses for a client that speaks HTTP/2 and HTTP/1.1."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    port = int(url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain, context.wrap_socket(plain) as secure:
        return secure.selected_alpn_protocol()


def _make_certificate(folder: Path) -> None:
    key, certificate = folder / "privkey.pem", folder / "fullchain.pem"
    subject = ["-subj", "/CN=reader.example.org", "-days", "2", "-nodes", "-newkey", "rsa:2048"]
    subprocess.run(
        [program("openssl"), "req", "-x509", *subject, "-keyout", str(key), "-out", str(certificate)],
        capture_output=True,
        check=True,
        timeout=60,
    )


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with suppress(httpx.HTTPError):
            httpx.get(url, verify=False)
            return
        time.sleep(0.05)
    raise AssertionError("nginx did not answer in time")
