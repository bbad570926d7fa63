"""Pictures through the server: signed, checked, and only where they are wanted."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from reedbed.domain.images import signed_path
from reedbed.ingest.images import ImageCache, scale_down
from reedbed.roles.app import Application
from reedbed.services.runtime import ImagePolicy, Runtime
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

PNG = b"\x89PNG\r\n\x1a\n" + bytes(60)
PATH = re.compile(r"/images/[\w-]+/[\w-]+")


async def test_a_plain_http_picture_is_shown_through_the_server(
    harness: RuntimeHarness, site: FeedSite, signed_in: SignIn
) -> None:
    reader, entry = await _entry(harness, site, signed_in)
    content = (await reader.get(f"/api/v1/entries/{entry}")).json()["content"]
    path = PATH.search(content)
    assert path is not None
    answer = await reader.get(path[0])
    assert (answer.status_code, answer.content) == (200, PNG)
    assert answer.headers["content-type"] == "image/png"
    assert "sandbox" in answer.headers["content-security-policy"]


async def test_the_page_shows_it_with_its_own_address(
    harness: RuntimeHarness, site: FeedSite, by_cookie: SignIn, signed_in: SignIn
) -> None:
    _, entry = await _entry(harness, site, signed_in)
    page = await by_cookie("reader@example.org")
    shown = (await page.get(f"/entry/{entry}")).text
    assert 'src="/images/' in shown
    assert f'src="{site.url}' not in shown


async def test_all_pictures_or_none(
    app: Application, harness: RuntimeHarness, site: FeedSite, runtime: Runtime, signed_in: SignIn
) -> None:
    content = f'<p>Reeds</p><img src="{site.url}/a.png" alt=""><img src="https://cdn.example/b.png" alt="">'
    reader, entry = await _entry(harness, site, signed_in, content)
    found: dict[str, str] = {}
    for mode in ("off", "http", "all"):
        app.state.runtime = replace(runtime, images=ImagePolicy(mode=mode))
        found[mode] = (await reader.get(f"/api/v1/entries/{entry}")).json()["content"]
    assert "/images/" not in found["off"]
    assert "https://cdn.example/b.png" in found["http"]
    assert len(PATH.findall(found["http"])) == 1
    assert len(PATH.findall(found["all"])) == 2
    assert "cdn.example" not in found["all"]


async def test_a_picture_is_fetched_once(
    app: Application, site: FeedSite, runtime: Runtime, client: Client, tmp_path: Path
) -> None:
    site.put("/a.png", PNG, content_type="image/png")
    cache = ImageCache(tmp_path, max_bytes=1_000_000)
    app.state.runtime = replace(runtime, images=ImagePolicy(cache=cache))
    path = signed_path(runtime.secret, f"{site.url}/a.png")
    assert [(await client.get(path)).content for _ in range(3)] == [PNG] * 3
    assert len(site.seen_at("/a.png")) == 1


@pytest.mark.parametrize(
    "body",
    [b"<html>no picture</html>", b"<p><svg xmlns='http://www.w3.org/2000/svg'/></p>", b"", b"\x89PN"],
    ids=["html", "svg-in-html", "empty", "cut"],
)
async def test_what_is_no_picture_is_not_handed_on(
    site: FeedSite, runtime: Runtime, client: Client, body: bytes
) -> None:
    site.put("/a.png", body, content_type="image/png")
    answer = await client.get(signed_path(runtime.secret, f"{site.url}/a.png"))
    assert answer.status_code == 404


async def test_a_drawing_is_handed_on_and_may_run_nothing(site: FeedSite, runtime: Runtime, client: Client) -> None:
    svg = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    site.put("/a.svg", svg, content_type="text/plain")
    answer = await client.get(signed_path(runtime.secret, f"{site.url}/a.svg"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "script" not in policy


async def test_a_picture_too_large_is_not_handed_on(
    app: Application, site: FeedSite, runtime: Runtime, client: Client
) -> None:
    site.put("/a.png", PNG + bytes(20_000), content_type="image/png")
    app.state.runtime = replace(runtime, images=ImagePolicy(max_bytes=10_000))
    assert (await client.get(signed_path(runtime.secret, f"{site.url}/a.png"))).status_code == 404


@pytest.mark.parametrize("address", ["http://169.254.169.254/a.png", "http://[::1]/a.png", "file:///etc/passwd"])
async def test_the_guard_stands_before_pictures_too(runtime: Runtime, client: Client, address: str) -> None:
    assert (await client.get(signed_path(runtime.secret, address))).status_code == 404


async def test_an_address_that_was_not_signed_here_opens_nothing(
    site: FeedSite, runtime: Runtime, client: Client
) -> None:
    site.put("/a.png", PNG, content_type="image/png")
    good = signed_path(runtime.secret, f"{site.url}/a.png")
    foreign = signed_path(b"another key", f"{site.url}/a.png")
    other = signed_path(runtime.secret, f"{site.url}/b.png").rpartition("/")[2]
    forged = [foreign, f"{good.rpartition('/')[0]}/{other}", f"{good}x", "/images/ä/%00", "/images/a/b"]
    assert [(await client.get(path)).status_code for path in forged] == [404] * len(forged)
    assert not site.requests


async def _entry(
    harness: RuntimeHarness, site: FeedSite, signed_in: SignIn, content: str | None = None
) -> tuple[Client, str]:
    """Somebody who follows a feed with one entry; the id of that."""
    reader = await signed_in("reader@example.org")
    site.put("/a.png", PNG, content_type="image/png")
    site.publish("Reeds", content=content or f'<p>Reeds</p><img src="{site.url}/a.png" alt="reeds">')
    followed = await reader.post("/api/v1/subscriptions", json={"url": site.feed_url()})
    assert followed.status_code == 201, followed.text
    await harness.check()
    (entry,) = (await reader.get("/api/v1/entries")).json()["items"]
    return reader, entry["id"]


async def test_a_list_loads_small_versions_of_pictures(
    app: Application, harness: RuntimeHarness, site: FeedSite, runtime: Runtime, signed_in: SignIn, by_cookie: SignIn
) -> None:
    noise = Image.effect_noise((1200, 800), 80).convert("RGB")
    large = io.BytesIO()
    noise.save(large, "JPEG", quality=95)
    site.put("/a.jpg", large.getvalue(), content_type="image/jpeg")
    app.state.runtime = replace(runtime, images=ImagePolicy(mode="all"))
    await _entry(harness, site, signed_in, f'<p>Reeds</p><img src="{site.url}/a.jpg" alt="">')
    page = await by_cookie("reader@example.org")
    row = (await page.get("/all")).text
    srcset = re.search(r'srcset="([^"]+)"', row)
    assert srcset is not None
    small, medium = (part.split(" ") for part in srcset[1].split(", "))
    assert (small[1], medium[1]) == ("160w", "480w")
    sizes: list[int] = []
    for address, width in (small, medium):
        answer = await page.get(address)
        assert answer.headers["content-type"] == "image/webp"
        with Image.open(io.BytesIO(answer.content)) as picture:
            assert f"{picture.width}w" == width
        sizes.append(len(answer.content))
    assert sizes[0] < 20_000 and sizes[1] < len(large.getvalue()) / 3
    other = signed_path(b"another secret", f"small:160:{site.url}/a.jpg")
    assert (await page.get(other)).status_code == 404


def test_a_damaged_or_huge_picture_is_not_scaled() -> None:
    damaged = b"\xff\xd8\xff" + bytes(30_000)
    assert scale_down(damaged, 160) == damaged
    wide = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(wide, "PNG")
    assert scale_down(wide.getvalue() + bytes(30_000), 160).startswith(b"\x89PNG")
