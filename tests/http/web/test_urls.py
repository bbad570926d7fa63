"""Addresses of the page that a reload, a slash too much or too large a file would break."""

import pytest

from tests.clients import Client, SignIn

FORM = {"Origin": "http://127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
async def reader(by_cookie: SignIn) -> Client:
    return await by_cookie("reader@example.org")


@pytest.mark.parametrize(
    ("form", "above"),
    [
        ("/settings/app-passwords", "/settings/devices"),
        ("/rules/dry-run", "/rules"),
        ("/searches/tags/7", "/searches"),
        ("/feeds/7", "/feeds"),
        ("/feeds/7/pause", "/feeds"),
        ("/entry/7/full", "/entry/7"),
        ("/mark-read", "/"),
        ("/admin/people/invites", "/admin/people"),
        ("/admin/people/7/reset-link", "/admin/people"),
    ],
)
async def test_a_form_loaded_again_leads_to_the_page_above(reader: Client, form: str, above: str) -> None:
    answer = await reader.get(form)
    assert (answer.status_code, answer.headers["location"]) == (303, above)


async def test_a_slash_too_much_is_taken_away_whatever_the_host_says(reader: Client) -> None:
    answer = await reader.get("/feeds/?status=error", headers={"Host": "evil.example.org"})
    assert (answer.status_code, answer.headers["location"]) == (307, "/feeds?status=error")
    assert (await reader.get("http://127.0.0.1:8080//evil.example.org/")).status_code == 404
    assert (await reader.get("/nowhere/")).status_code == 404


async def test_too_large_a_file_is_answered_with_a_page(reader: Client) -> None:
    answer = await reader.post("/opml", files={"file": ("a.opml", b"x" * 10_000_001)}, headers=FORM)
    assert answer.status_code == 413
    assert answer.headers["content-type"].startswith("text/html") and "larger than 10 MB" in answer.text


async def test_people_are_not_shown_what_a_validator_says(reader: Client) -> None:
    answer = await reader.post("/entry/1/starred", data={"value": "perhaps"}, headers=FORM)
    assert answer.status_code == 400
    assert "Go back and try again" in answer.text and "boolean" not in answer.text


@pytest.mark.parametrize("days", ["²", "٣", "x", "99999"])
async def test_odd_days_mark_or_are_passed_over(reader: Client, days: str) -> None:
    answer = await reader.post("/mark-read", data={"view": "all", "older_than": days}, headers=FORM)
    assert answer.status_code in (303, 400)


async def test_tags_typed_with_commas_are_several(reader: Client, harness, site) -> None:
    site.publish("Hello", key="a")
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    data = {"tag": ["kept"], "new_tag": "one, two,, kept"}
    await reader.post("/entry/1/tags", data=data, headers=FORM)
    tags = (await reader.get("/api/v1/entries/1")).json()["tags"]
    assert sorted(tags) == ["kept", "one", "two"]
