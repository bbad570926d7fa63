"""Framing: switch a feed on, read why an entry is loud, change the wording, hide what is above a limit."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import MANY, Visit, Way, both, keep_picture, until, violations
from tests.feedsite import FeedSite
from tests.modelserver import ModelServer, Question, Reply, framing
from tests.processes import Reedbed, reedbed, signed_in, wait_for
from tests.services.writing import STORY
from tests.serving import in_thread

LOUD, CALM = "SHOCK: bridge SHUT!", "Herons counted"
QUOTE = "close the swing bridge to cars"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with in_thread(ModelServer()) as model:
        model.behave = _read
        yield model


@pytest.fixture
def reader(model: ModelServer, tmp_path: Path, free_port: int) -> Iterator[Reedbed]:
    settings = {"ai_provider": "openai", "ai_base_url": model.url, "ai_model": "scripted", "ai_max_rpm": "60000"}
    with reedbed("serve", port=free_port, cwd=tmp_path, **MANY, **settings) as running:
        yield running


@both
def test_a_feed_is_switched_on_and_its_wording_seen_through(
    reader: Reedbed, visit: Visit, threaded_site: FeedSite, way: Way
) -> None:
    threaded_site.publish(CALM, key="calm", content=f"<p>{STORY} {STORY}</p>")
    threaded_site.publish(LOUD, key="loud", content=f"<p>{STORY} {STORY} Now.</p>")
    with signed_in(reader.url) as client:
        token = client.headers["Authorization"].removeprefix("Bearer ")
        made = client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).json()
        wait_for("two entries", lambda: client.get("/api/v1/counts").json()["all"] == 2)
        page = visit(f"{reader.url}/feeds/{made['id']}/edit", way, token=token)
        _switch_on(page)
        framed = f"/api/v1/subscriptions/{made['id']}/framing"
        wait_for("two readings", lambda: client.get(framed).json()["articles"] == 2)
    page.reload()
    expect(page.get_by_role("img", name="On average 0.50 (mixed) over 2 articles.")).to_be_visible()
    assert violations(page) == []

    page.goto(f"{reader.url}/all")
    page.locator(".row h3 a", has_text=LOUD).click()
    page.locator("#framing > summary").click()
    expect(page.locator("#framing .reason-quote q")).to_have_text([QUOTE] * 5)
    until(page, "CSS.highlights.get('evidence')?.size === 5")
    assert violations(page) == []
    page.get_by_role("link", name="Neutral").click()
    expect(page.locator("h1", has_text="Bridge to close")).to_be_visible()
    expect(page.locator("#neutral")).to_have_text("Bridge to close, calmly told.")
    assert violations(page) == []
    keep_picture(page, "framing", way)

    page.goto(f"{reader.url}/settings/framing")
    assert violations(page) == []
    page.select_option("#loud_entries", "hide")
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.click("main button[data-kind=primary]")
    page.goto(f"{reader.url}/all")
    expect(page.locator(".row")).to_have_count(1)
    page.get_by_role("link", name="Show", exact=True).click()
    expect(page.locator(".row")).to_have_count(2)


def _switch_on(page: Page) -> None:
    page.get_by_label("Send the texts of the feeds that I switch on").check()
    page.get_by_role("button", name="Switch on").click()
    expect(page.get_by_role("button", name="Switch off")).to_be_visible()


def _read(question: Question) -> Reply:
    if LOUD in question["messages"][1]["content"]:
        return Reply(text=framing("Bridge to close", overall=0.9, quote=QUOTE))
    return Reply(text=framing("Herons counted", overall=0.1))
