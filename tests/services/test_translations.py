"""Translations in the AI worker: what is sent, what is kept, and what happens when a translator misbehaves."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reedbed.ai.openai import OpenAiModel
from reedbed.ai.speech import SpeechProgram, write_wave
from reedbed.ai.translators import DeepL, LibreTranslate
from reedbed.domain.ai import Budget
from reedbed.domain.errors import NotFound
from reedbed.domain.published_feeds import PublishedView
from reedbed.domain.translations import Translation, TranslationState
from reedbed.services import jobs
from reedbed.services.ai_worker import NothingDue, Task, next_task, write_task
from reedbed.services.listening.manage import get_spoken, request_spoken
from reedbed.services.published_feeds import publish_view, read_publication
from reedbed.services.runtime import AiPolicy, SpeechPolicy
from reedbed.services.search.find import search_entries
from reedbed.services.subscriptions.manage import SubscribeOptions, SubscriptionChange, change_subscription, subscribe
from reedbed.services.translations.manage import (
    TranslationRequester,
    feed_mode,
    get_translation,
    in_own_language,
    list_translations,
    request_translation,
    set_feed_mode,
    translations_for_programs,
)
from reedbed.services.users import preferences_of, set_preferences
from reedbed.store import users
from reedbed.store.entries import read as entries
from reedbed.worker.jobs import HANDLERS
from tests.feedsite import FeedSite
from tests.harness import open_harness, run
from tests.services.writing import AT_ONCE, Desk, new_desk
from tests.translationserver import TranslationServer

TEXT = (
    'The three boats left the <a href="https://harbour.example/old">old harbour</a> before dawn with 12 nets that '
    "their grandfathers had made from cotton."
)
SECOND = (
    "They came back with less fish than the others, and with <b>cleaner hands</b> than they had in the year before."
)


@pytest.fixture
async def server() -> AsyncIterator[TranslationServer]:
    async with TranslationServer() as server:
        yield server


@pytest.fixture
async def desk(database_url: str, server: TranslationServer) -> AsyncIterator[Desk]:
    async with open_harness(database_url) as harness:
        desk = await new_desk(harness)
        model = OpenAiModel("babel", base_url=f"{server.url}/v1", api_key="a-key", timeout=5)
        desk.harness.runtime = replace(
            desk.runtime, ai=AiPolicy(model=model, translator=model, breaker=AT_ONCE, language="de")
        )
        await _prefer(desk, remote_ai=True)
        yield desk
        await model.close()
        if desk.runtime.ai.translator is not None:
            await desk.runtime.ai.translator.close()


async def _prefer(desk: Desk, **changes: Any) -> None:
    desk.user = await set_preferences(desk.runtime, await _caller(desk), changes)


async def _caller(desk: Desk) -> Any:
    from reedbed.domain.users import Caller

    return Caller(desk.user)


async def _entry(desk: Desk, *paragraphs: str, title: str = "The boats and the nets") -> int:
    entry_id = await desk.entry("", title=title, more="")
    html = "".join(f"<p>{text}</p>" for text in paragraphs or (TEXT, SECOND))
    async with desk.runtime.db.write() as tx:
        await run(tx, "UPDATE entry_bodies SET content = :html WHERE entry_id = :id", html=html, id=entry_id)
        await run(tx, "UPDATE entries SET language = 'en' WHERE id = :id", id=entry_id)
    return entry_id


async def _work(desk: Desk) -> int:
    """Let the worker do everything that is due; return the number of steps."""
    for step in range(200):
        item = await next_task(desk.runtime)
        if isinstance(item, NothingDue):
            return step
        if isinstance(item, Task):
            await write_task(desk.runtime, item)
    raise AssertionError("the queue does not become empty")


async def _translate(desk: Desk, entry_id: int, *, again: bool = False) -> TranslationState:
    await request_translation(desk.runtime, desk.user, entry_id, again=again)
    await _work(desk)
    return await get_translation(desk.runtime, desk.user, entry_id)


def _made(state: TranslationState) -> Translation:
    assert state.translation is not None
    return state.translation


async def test_an_entry_is_translated_with_its_markup(desk: Desk, server: TranslationServer) -> None:
    state = await _translate(desk, await _entry(desk))
    made = _made(state)
    assert (state.status, state.view, made.kept, made.blocks, made.provider) == ("ready", "translation", 0, 3, "babel")
    assert 'href="https://harbour.example/old"' in made.content and "<b>" in made.content and "12" in made.content
    assert "harbour</a>" not in made.content and "boats" not in made.title
    assert made.pairs.count('<div class="pair">') == 2 and 'lang="de"' in made.pairs and 'lang="en"' in made.pairs
    assert server.keys == ["Bearer a-key"]


async def test_an_edit_costs_only_its_changed_blocks(desk: Desk, server: TranslationServer) -> None:
    entry_id = await _entry(desk)
    await _translate(desk, entry_id)
    sent = len(server.texts)
    async with desk.runtime.db.write() as tx:
        html = f"<p>{TEXT}</p><p>{SECOND}</p><p>In the end they were happy about what they have seen there.</p>"
        await run(tx, "UPDATE entry_bodies SET content = :html WHERE entry_id = :id", html=html, id=entry_id)
        await run(tx, "UPDATE entries SET version = version + 1 WHERE id = :id", id=entry_id)
    assert (await get_translation(desk.runtime, desk.user, entry_id)).outdated
    state = await _translate(desk, entry_id)
    assert not state.outdated and _made(state).blocks == 4
    assert server.texts[sent:] == ["In the end they were happy about what they have seen there."]


async def test_an_article_changes_no_translation_of_another_feed(desk: Desk, server: TranslationServer) -> None:
    server.spoil = lambda text, good: good + " und nicht"
    first = _made(await _translate(desk, await _entry(desk)))
    server.spoil = lambda text, good: good
    entry_id = await _entry(desk, SECOND)
    other = await desk.harness.follow("http://127.0.0.1:1/other", user_id=desk.user.id)
    await desk.harness.change("UPDATE entries SET feed_id = :feed WHERE id = :id", feed=other, id=entry_id)
    second = _made(await _translate(desk, entry_id))
    assert "und nicht" in first.content and second.kept == 0 and "und nicht" not in second.content + second.title


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text, good: None,
        lambda text, good: text,
        lambda text, good: (
            "nous vous avons dit que les bateaux sont dans le port avec des filets pour la mer et le sel"
        ),
        lambda text, good: good + " https://evil.example/",
        lambda text, good: good + ' <a href="https://evil.example/">x</a>',
        lambda text, good: re.sub(r"⟦/?\d+⟧", "", good),
        lambda text, good: good.replace("12", "13"),
        lambda text, good: good * 5,
    ],
    ids=["dropped", "untranslated", "wrong language", "link", "markup", "no markers", "numbers", "chatter"],
)
async def test_a_block_that_cannot_be_trusted_stays_in_the_original(
    desk: Desk, server: TranslationServer, spoil: Any
) -> None:
    server.spoil = lambda text, good: spoil(text, good) if "12 nets" in text else good
    entry_id = await _entry(desk)
    made = _made(await _translate(desk, entry_id))
    assert (made.kept, made.blocks) == (1, 3)
    assert '<span class="kept" lang="en" dir="ltr">The three boats left the <a href="https://harbour.example/old"' in (
        made.content
    )
    assert "evil" not in made.content and "cleaner" not in made.content
    assert sum("12 nets" in text for text in server.texts) == 2  # tried again once


async def test_a_translator_that_always_fails_says_so_and_can_be_asked_again(
    desk: Desk, server: TranslationServer
) -> None:
    server.spoil = lambda text, good: text
    entry_id = await _entry(desk)
    state = await _translate(desk, entry_id)
    assert state.status == "failed" and state.error is not None
    assert state.error.message == "The translator returned no usable translation."
    server.spoil = lambda text, good: good
    assert (await _translate(desk, entry_id, again=True)).status == "ready"


async def test_a_long_article_takes_several_calls(desk: Desk, server: TranslationServer) -> None:
    entry_id = await _entry(desk, *(f"{SECOND} Number {number}." for number in range(80)))
    made = _made(await _translate(desk, entry_id))
    assert len(server.calls) > 3 and made.kept == 0 and made.blocks == 81


async def test_nothing_is_sent_without_consent_or_from_a_private_feed(desk: Desk, server: TranslationServer) -> None:
    entry_id = await _entry(desk)
    async with desk.runtime.db.write() as tx:
        await run(tx, "UPDATE subscriptions SET local_only = :yes", yes=True)
    assert (await _translate(desk, entry_id)).status == "refused"
    async with desk.runtime.db.write() as tx:
        await run(tx, "UPDATE subscriptions SET local_only = :no", no=False)
    await request_translation(desk.runtime, desk.user, entry_id)
    await _prefer(desk, remote_ai=False)
    await _work(desk)
    assert (await get_translation(desk.runtime, desk.user, entry_id)).status == "refused"
    assert server.calls == []


async def test_another_user_cannot_ask_for_an_entry_that_they_cannot_see(desk: Desk) -> None:
    other = await new_desk(desk.harness)
    entry_id = await _entry(desk)
    with pytest.raises(NotFound):
        await request_translation(desk.runtime, other.user, entry_id)
    with pytest.raises(NotFound):
        await get_translation(desk.runtime, other.user, entry_id)


async def test_a_spent_budget_postpones_the_call(desk: Desk, server: TranslationServer) -> None:
    desk.harness.runtime = replace(desk.runtime, ai=replace(desk.runtime.ai, budget=Budget(daily_tokens=10)))
    assert (await _translate(desk, await _entry(desk))).status == "failed"
    assert server.calls == []


async def test_lists_show_translated_titles_to_those_who_asked(desk: Desk) -> None:
    entry_id = await _entry(desk)
    await _translate(desk, entry_id)
    async with desk.runtime.db.read() as tx:
        assert list(await list_translations(tx, desk.runtime, desk.user, [entry_id])) == [entry_id]
    await request_translation(desk.runtime, desk.user, entry_id, "original")
    async with desk.runtime.db.read() as tx:
        assert await list_translations(tx, desk.runtime, desk.user, [entry_id]) == {}


async def test_apps_get_the_translation_if_wanted(desk: Desk) -> None:
    entry_id = await _entry(desk)
    await _translate(desk, entry_id)
    async with desk.runtime.db.read() as tx:
        assert await translations_for_programs(tx, desk.runtime, desk.user, [entry_id]) == {}
    await _prefer(desk, translations_in_apps=True)
    async with desk.runtime.db.read() as tx:
        found = await translations_for_programs(tx, desk.runtime, desk.user, [entry_id])
    assert "harbour.example/old" in found[entry_id][1]


async def test_what_is_read_in_translation_is_read_aloud_in_it(desk: Desk, tmp_path: Path) -> None:
    program = tmp_path / "speak"
    program.write_bytes(b"#!/bin/sh\ncat > /dev/null\ncat " + str(tmp_path / "sound.wav").encode())
    program.chmod(0o755)
    (tmp_path / "sound.wav").write_bytes(write_wave(8_000, b"\0\0" * 8_000))
    desk.harness.runtime = replace(desk.runtime, speech=SpeechPolicy(SpeechProgram(str(program))))
    entry_id = await _entry(desk)
    languages: list[str] = []
    titles: list[str] = []
    for view in ("original", "translation", "translation"):
        await request_translation(desk.runtime, desk.user, entry_id, view)
        await _work(desk)
        spoken = await request_spoken(desk.runtime, desk.user, "entry", entry_id)
        while (job := await jobs.claim(desk.runtime, ["listening"])) is not None:
            await jobs.run(desk.runtime, job, HANDLERS[job.kind])
        made = await get_spoken(desk.runtime, desk.user.id, spoken.id)
        languages.append(made.language)
        titles.append(made.title)
    assert languages == ["en", "de", "de"] and titles[0] != titles[1] == titles[2]
    assert await desk.value("SELECT count(*) FROM recordings") == 1, "the sound of the original is gone"
    assert await desk.value("SELECT characters FROM spoken") > len(TEXT + SECOND), "both count"


async def test_a_search_finds_the_original_and_the_translation(desk: Desk, server: TranslationServer) -> None:
    server.spoil = lambda text, good: good.replace("auch", "Fischernetze").replace("nach", "Fischernetze")
    entry_id = await _entry(desk)
    made = _made(await _translate(desk, entry_id))
    assert "Fischernetze" in made.content
    for words in ("grandfathers", "Fischernetze"):
        found = await search_entries(desk.runtime, desk.user.id, words, limit=5)
        assert [row.id for row in found.rows] == [entry_id], words


@pytest.mark.parametrize("automatic", ["feed", "languages"])
async def test_new_entries_are_translated_without_asking(desk: Desk, automatic: str) -> None:
    requester = TranslationRequester()
    old = await _entry(desk)
    if automatic == "feed":
        async with desk.runtime.db.read() as tx:
            rows = await run(tx, "SELECT id FROM subscriptions WHERE user_id = :user", user=desk.user.id)
        await set_feed_mode(desk.runtime, desk.user.id, rows[0][0], "always")
    else:
        await _prefer(desk, auto_translate=True, languages_read="de, fr")
    assert await requester.request_new(desk.runtime) == 0  # what was there before is left alone
    new = await _entry(desk, title="New boats in the harbour")
    async with desk.runtime.db.write() as tx:
        for entry_id in (old, new):
            sql = "INSERT INTO unread (user_id, feed_id, entry_id, sort_at) VALUES (:user, :feed, :entry, 1)"
            await run(tx, sql, user=desk.user.id, feed=desk.feed_id, entry=entry_id)
    assert await requester.request_new(desk.runtime) == 1
    assert await requester.request_new(desk.runtime) == 0
    await _work(desk)
    assert (await get_translation(desk.runtime, desk.user, new)).view == "translation"
    assert (await get_translation(desk.runtime, desk.user, old)).translation is None


@pytest.mark.parametrize("service", ["libretranslate", "deepl"])
async def test_translation_services_work_like_the_model(desk: Desk, server: TranslationServer, service: str) -> None:
    kind = LibreTranslate if service == "libretranslate" else DeepL
    translator = kind(service, base_url=server.url, api_key="a-key", timeout=5)
    desk.harness.runtime = replace(desk.runtime, ai=replace(desk.runtime.ai, model=None, translator=translator))
    made = _made(await _translate(desk, await _entry(desk)))
    assert (made.kept, made.provider) == (0, service)
    assert 'href="https://harbour.example/old"' in made.content and "<b>" in made.content
    assert server.keys == ["a-key" if service == "libretranslate" else "DeepL-Auth-Key a-key"]
    async with desk.runtime.db.read() as tx:
        assert await users.get(tx, desk.user.id) is not None and preferences_of(desk.user).remote_ai


async def test_a_service_that_refuses_the_key_is_tried_later(desk: Desk, server: TranslationServer) -> None:
    server.status = 403
    translator = LibreTranslate("libretranslate", base_url=server.url, timeout=5)
    desk.harness.runtime = replace(desk.runtime, ai=replace(desk.runtime.ai, model=None, translator=translator))
    state = await _translate(desk, await _entry(desk))
    assert state.translation is None and state.status in ("pending", "failed")


async def test_a_published_feed_carries_the_translation_if_wanted(desk: Desk) -> None:
    entry_id = await _entry(desk)
    made = _made(await _translate(desk, entry_id))
    opened = await publish_view(desk.runtime, desk.user.id, "Mine", PublishedView("all"))
    (entry,) = (await read_publication(desk.runtime, opened.token)).entries
    assert entry.title == "The boats and the nets"
    await _prefer(desk, translations_in_apps=True)
    (entry,) = (await read_publication(desk.runtime, opened.token)).entries
    assert (entry.title, entry.content) == (made.title, made.content)


async def test_google_reader_and_fever_get_the_translation_if_wanted(desk: Desk) -> None:
    entry_id = await _entry(desk)
    made = _made(await _translate(desk, entry_id))
    await _prefer(desk, translations_in_apps=True)
    async with desk.runtime.db.read() as tx:
        found = await entries.by_ids(tx, desk.user.id, [entry_id])
        (entry,) = await in_own_language(tx, desk.runtime, desk.user, found)
    assert (entry.row.title, entry.content) == (made.title, made.content)


async def test_modes_and_views_stay_when_a_feed_moves(desk: Desk, site: FeedSite) -> None:
    runtime, user_id = desk.runtime, desk.user.id
    site.publish("The boats and the nets", feed="old", key="boats", url="http://127.0.0.1:9/boats")
    site.publish("The boats and the nets", feed="new", key="boats", url="http://127.0.0.1:9/boats")
    old = await subscribe(runtime, user_id, SubscribeOptions(site.feed_url("old")))
    await set_feed_mode(runtime, user_id, old.id, "always")
    (entry_id,) = await desk.harness.column("SELECT id FROM entries WHERE feed_id = :id", id=old.feed.id)
    await request_translation(runtime, desk.user, entry_id, "both")
    await desk.harness.follow(site.feed_url("new"), user_id=await desk.harness.person())
    await desk.harness.check()

    site.redirect(site.feed_url("new"), feed="old")
    for _ in range(3):
        await desk.harness.check_anyway(old.feed.id)
    assert await feed_mode(runtime, user_id, old.id) == "always"
    assert await desk.harness.rows("SELECT user_id, view FROM translation_views") == [(user_id, "both")]

    moved = await change_subscription(runtime, user_id, old.id, SubscriptionChange(url=site.feed_url("elsewhere")))
    assert moved.feed.id != old.feed.id and await feed_mode(runtime, user_id, moved.id) == "always"
