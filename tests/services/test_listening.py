"""Reading aloud: espeak-ng, an endpoint on loopback, programs that hang or flood, chapters and the podcast."""

import math
import shutil
import struct
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from lxml import etree

from reedbed.ai.speech import SpeechEndpoint, SpeechFailed, SpeechProgram, encode, read_wave, write_wave
from reedbed.domain.ai import BreakerPolicy, Budget
from reedbed.domain.digests import DigestScope, DigestText, Paragraph, Sentence, Source
from reedbed.domain.errors import Conflict, NotFound, Unavailable
from reedbed.domain.failures import FailureCode
from reedbed.domain.feed_writer import write_podcast
from reedbed.domain.listening import Spoken, voice_for
from reedbed.domain.playback import RecordingId
from reedbed.domain.times import SECOND
from reedbed.domain.users import Caller
from reedbed.services import jobs
from reedbed.services.ai import set_paused
from reedbed.services.digests import find_entries
from reedbed.services.listening.manage import (
    get_spoken,
    newest_spoken,
    open_sound,
    podcast_owner,
    publish_podcast,
    read_podcast,
    request_spoken,
)
from reedbed.services.listening.work import speak
from reedbed.services.playback.media import get_chapters, get_transcript
from reedbed.services.playback.positions import enqueue, list_queue
from reedbed.services.runtime import SpeechPolicy
from reedbed.services.users import set_preferences
from reedbed.store import ai as ai_state
from reedbed.store import digests, listening
from reedbed.worker.jobs import HANDLERS
from tests import servers
from tests.conftest import give_up
from tests.harness import open_harness, run
from tests.services.writing import Desk, new_desk, opted_in
from tests.serving import close

ESPEAK = "espeak-ng --stdin --stdout -v {voice}"
TEXT = (
    "<p>The ferry is late again. It will be mended in May.</p><pre>net = cotton()</pre>"
    "<p>See https://a.example/x now.</p>"
)


async def test_the_encoder_does_not_see_the_secrets_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REEDBED_SECRET_KEY", "not for others")
    program = tmp_path / "encoder"
    program.write_text("#!/bin/sh\ncat > /dev/null\nenv\n")
    program.chmod(0o755)
    output, media_type = await encode(b"RIFF", str(program))
    assert media_type == "audio/mpeg" and b"PATH=" in output and b"not for others" not in output


@pytest.fixture
def espeak() -> None:
    if shutil.which("espeak-ng") is None:
        give_up(servers.Missing("espeak-ng is not installed: make test-deps"))


@pytest.fixture
async def desk(database_url: str) -> AsyncIterator[Desk]:
    async with open_harness(database_url) as harness:
        yield await new_desk(harness)


def _use(desk: Desk, speaker: Any, **limits: int) -> None:
    desk.harness.runtime = replace(desk.runtime, speech=SpeechPolicy(speaker, **limits))


async def _entry(desk: Desk, html: str = TEXT) -> int:
    entry_id = await desk.entry("", title="The ferry", more="")
    async with desk.runtime.db.write() as tx:
        await run(tx, "UPDATE entry_bodies SET content = :html WHERE entry_id = :id", html=html, id=entry_id)
        await run(tx, "UPDATE entries SET language = 'en' WHERE id = :id", id=entry_id)
    return entry_id


async def _listen(desk: Desk, entry_id: int) -> Spoken:
    spoken = await request_spoken(desk.runtime, desk.user, "entry", entry_id)
    await _work(desk)
    return await get_spoken(desk.runtime, desk.user.id, spoken.id)


async def _work(desk: Desk) -> None:
    while (job := await jobs.claim(desk.runtime, ["listening"])) is not None:
        await jobs.run(desk.runtime, job, HANDLERS[job.kind])


async def _digest(desk: Desk, sources: Sequence[Source], text: str) -> int:
    """With a sentence about each source."""
    now = desk.runtime.now()
    sentences = tuple(Sentence(text, (source.entry_id,), "en") for source in sources)
    async with desk.runtime.db.write() as tx:
        digest_id = await digests.add(tx, desk.user.id, DigestScope(), model="", language="en", since=now - 1, now=now)
        content = DigestText((Paragraph("The day", sentences),), tuple(sources))
        await digests.finish(tx, digest_id, content, model="extract", language="en", entries=len(sources), now=now)
    return digest_id


async def _sound(desk: Desk, spoken: Spoken) -> bytes:
    sound = await open_sound(desk.runtime, desk.user.id, spoken.id, None)
    return b"".join([chunk async for chunk in sound.chunks])


@pytest.mark.usefixtures("espeak")
async def test_an_article_is_read_aloud_and_queued_in_the_player(desk: Desk) -> None:
    _use(desk, SpeechProgram(ESPEAK))
    spoken = await _listen(desk, await _entry(desk))
    assert (spoken.status, spoken.title, len(spoken.chapters)) == ("ready", "The ferry", 1)
    content = await _sound(desk, spoken)
    assert len(content) == spoken.length > 50_000 and spoken.seconds > 2
    assert not any("cotton" in text or "https" in text for _, text in spoken.transcript)
    assert spoken.entry_id is not None
    await enqueue(desk.runtime, desk.user.id, RecordingId(spoken.entry_id), "last")
    (queued,) = await list_queue(desk.runtime, desk.user.id)
    assert (queued.title, queued.seconds, queued.feed_title) == ("The ferry", spoken.seconds, "Read aloud")
    chapters = await get_chapters(desk.runtime, desk.user.id, spoken.entry_id)
    assert [chapter.title for chapter in chapters] == ["The ferry"]
    transcript = await get_transcript(desk.runtime, desk.user.id, spoken.entry_id)
    assert any("mended in May" in cue.text for cue in transcript.cues)
    assert await desk.value("SELECT count(*) FROM unread WHERE entry_id = :id", id=spoken.entry_id) == 0


@pytest.mark.usefixtures("espeak")
async def test_a_digest_of_15_items_takes_less_than_a_minute_and_has_right_chapters(desk: Desk) -> None:
    _use(desk, SpeechProgram(ESPEAK))
    now = desk.runtime.now()
    sources = [Source(number, f"Item number {number}", "The Courier", now, "en") for number in range(1, 16)]
    text = "The council has voted about the bridge again. It will be closed for a while. " * 3
    digest_id = await _digest(desk, sources, text)
    began = time.monotonic()
    spoken = await request_spoken(desk.runtime, desk.user, "digest", digest_id)
    await _work(desk)
    took = time.monotonic() - began
    spoken = await get_spoken(desk.runtime, desk.user.id, spoken.id)
    assert spoken.status == "ready" and took < 60
    assert [chapter.title for chapter in spoken.chapters] == [source.title for source in sources]
    assert all("/entry/" in chapter.url for chapter in spoken.chapters)
    if spoken.media_type == "audio/wav":
        _check_silences(read_wave(await _sound(desk, spoken)).frames, spoken)


def _check_silences(frames: bytes, spoken: Spoken) -> None:
    """Before each chapter there is a second of silence, and its first word follows within a second."""
    rate = read_wave_rate(len(frames), spoken)
    for chapter in spoken.chapters[1:]:
        at = round(chapter.start * rate)
        before = struct.unpack(f"<{rate // 2}h", frames[2 * (at - rate // 2) : 2 * at])
        after = struct.unpack(f"<{rate}h", frames[2 * at : 2 * (at + rate)])
        assert max(map(abs, before)) == 0
        assert max(map(abs, after)) > 500


def read_wave_rate(length: int, spoken: Spoken) -> int:
    return min((22_050, 24_000, 16_000), key=lambda rate: abs(length / 2 / rate - spoken.seconds))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("sleep 60", "no answer within 1 s"),
        ("cat /dev/zero", "too much sound"),
        ("false", "exit code 1"),
        ("echo hello", "no WAV"),
        ("/no/such/program", "FileNotFoundError"),
    ],
)
async def test_a_program_that_misbehaves_is_ended(desk: Desk, program: str, reason: str) -> None:
    _use(desk, SpeechProgram(program, timeout=1, max_bytes=1_000_000))
    began = time.monotonic()
    spoken = await _listen(desk, await _entry(desk))
    assert time.monotonic() - began < 10
    assert spoken.status == "failed" and spoken.error is not None and reason in spoken.error.message


async def test_a_program_cannot_fill_the_memory(tmp_path: Path) -> None:
    script = tmp_path / "eat"
    script.write_text("#!/bin/sh\nexec /usr/bin/env -i PATH=/usr/bin:/bin tail /dev/zero\n")
    script.chmod(0o755)
    with pytest.raises(SpeechFailed):
        await SpeechProgram(str(script), timeout=20).speak("Hello", "en", "")


# --- An endpoint


def _tone(seconds: float, rate: int = 8_000) -> bytes:
    samples = (int(8_000 * math.sin(number / 4)) for number in range(int(rate * seconds)))
    return write_wave(rate, b"".join(struct.pack("<h", sample) for sample in samples))


class SpeechServer:
    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.status = 200

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append({**await request.json(), "key": request.headers.get("Authorization", "")})
        return web.Response(body=_tone(2.0), status=self.status, content_type="audio/wav")


@pytest.fixture
async def endpoint() -> AsyncIterator[tuple[SpeechServer, SpeechEndpoint]]:
    server, app = SpeechServer(), web.Application()
    app.router.add_post("/v1/audio/speech", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    speaker = SpeechEndpoint("kokoro", base_url=f"http://127.0.0.1:{runner.addresses[0][1]}/v1", api_key="a-key")
    yield server, speaker
    await speaker.close()
    await close(runner)


async def test_an_endpoint_gets_parts_of_at_most_4096_characters(
    desk: Desk, endpoint: tuple[SpeechServer, SpeechEndpoint]
) -> None:
    server, speaker = endpoint
    _use(desk, speaker)
    entry_id = await _entry(desk, f"<p>{'This is a sentence of some words. ' * 400}</p>")
    with pytest.raises(Conflict):
        await request_spoken(desk.runtime, desk.user, "entry", entry_id)
    desk.user = await opted_in(desk.runtime, desk.user)
    spoken = await _listen(desk, entry_id)
    assert spoken.status == "ready" and len(server.requests) == 13
    assert all(len(request["input"]) <= 1_200 for request in server.requests)
    assert server.requests[0]["key"] == "Bearer a-key" and server.requests[0]["response_format"] == "wav"
    assert spoken.seconds == round(13 * 2.0 + 12 * 0.35 + 1.0)


ARTICLE = """<h1>The ferry</h1><p>Mr. Holm said it, e.g. on Monday.</p><h2>What it costs</h2>
<p>Read <a href="https://www.a.example/x?y=1">https://www.a.example/x?y=1</a> and run <code>make check</code>.</p>
<pre>net = cotton()</pre><table><tr><td>1<table><tr><td>2</td></tr></table></td></tr></table><p>* * *</p>
<ul><li>Buses keep one lane</li><li>Cars do not</li></ul><p>Short lines<br>Stay lines</p>
<p>A line that a program for mail broke because it was<br>Full is one.</p><p><s>Wrong.</s></p>
<figure><img src="https://a.example/p.png"><figcaption>The ferry in 1931</figcaption></figure>"""


async def _heard(desk: Desk, server: SpeechServer, html: str) -> tuple[Spoken, list[str]]:
    desk.user = await opted_in(desk.runtime, desk.user)
    spoken = await _listen(desk, await _entry(desk, html))
    return spoken, [request["input"] for request in server.requests]


async def test_what_is_heard_is_prose_with_pauses(desk: Desk, endpoint: tuple[SpeechServer, SpeechEndpoint]) -> None:
    server, speaker = endpoint
    _use(desk, speaker)
    spoken, heard = await _heard(desk, server, ARTICLE)
    assert heard[0] == "The ferry."
    assert heard[1].split("\n") == [
        "Mr. Holm said it, e.g. on Monday.",
        "What it costs.",
        "Read a.example and run make check.",
        "Buses keep one lane.",
        "Cars do not.",
        "Short lines.",
        "Stay lines.",
        "A line that a program for mail broke because it was Full is one.",
    ]
    assert [text for _, text in spoken.transcript][:3] == [
        "The ferry.",
        "Mr. Holm said it, e.g. on Monday.",
        "What it costs.",
    ]


async def test_each_long_section_of_an_article_is_a_chapter(
    desk: Desk, endpoint: tuple[SpeechServer, SpeechEndpoint]
) -> None:
    server, speaker = endpoint
    _use(desk, speaker)
    long = "<p>The council has voted about the bridge again today.</p>" * 20
    html = f"<p>It begins.</p><h2>What it costs</h2>{long}<h3>A detail</h3><p>Short.</p><h2>The end</h2>{long}"
    spoken, heard = await _heard(desk, server, html)
    assert [chapter.title for chapter in spoken.chapters] == ["The ferry", "What it costs", "The end"]
    assert not spoken.chapters[1].url, "the address of the article is named once"
    assert heard[:2] == ["The ferry.", "It begins."]
    assert any(text.endswith("A detail.\nShort.") for text in heard)


async def test_each_language_can_have_a_voice(desk: Desk, endpoint: tuple[SpeechServer, SpeechEndpoint]) -> None:
    server, speaker = endpoint
    _use(desk, speaker)
    chosen = {"remote_ai": True, "voice": "de=thorsten en=heart"}
    desk.user = await set_preferences(desk.runtime, Caller(desk.user), chosen)
    await _listen(desk, await _entry(desk))
    assert {request["voice"] for request in server.requests} == {"heart"}
    assert [voice_for(voices, "fr") for voices in ("alloy", "de=thorsten", "de=thorsten alloy", "")] == [
        "alloy",
        "",
        "alloy",
        "",
    ]


async def test_a_digest_keeps_local_what_must_stay_so_and_leaves_recordings_out(
    desk: Desk, endpoint: tuple[SpeechServer, SpeechEndpoint]
) -> None:
    server, speaker = endpoint
    _use(desk, speaker)
    spoken, _ = await _heard(desk, server, "<p>It is late.</p>")
    found = await find_entries(desk.runtime, desk.user.id, DigestScope(), 0)
    assert spoken.entry_id is not None and spoken.source_id in [row.id for row in found]
    assert spoken.entry_id not in [row.id for row in found]
    digest_id = await _digest(desk, [Source(spoken.source_id, "The ferry", "The Courier", 0, "en")], "It is late.")
    async with desk.runtime.db.write() as tx:
        await run(tx, "UPDATE subscriptions SET local_only = true WHERE user_id = :user", user=desk.user.id)
    server.requests.clear()
    read = await request_spoken(desk.runtime, desk.user, "digest", digest_id)
    await _work(desk)
    assert (await get_spoken(desk.runtime, desk.user.id, read.id)).status == "failed"
    assert server.requests == []


async def test_a_text_longer_than_allowed_is_cut_and_a_day_has_a_limit(
    desk: Desk, endpoint: tuple[SpeechServer, SpeechEndpoint]
) -> None:
    server, speaker = endpoint
    desk.user = await opted_in(desk.runtime, desk.user)
    _use(desk, speaker, max_characters=1_000, daily_characters=1_500)
    long = f"<p>{'This is a sentence of some words. ' * 400}</p>"
    assert (await _listen(desk, await _entry(desk, long))).status == "ready"
    assert sum(len(request["input"]) for request in server.requests) <= 1_000
    assert (await _listen(desk, await _entry(desk, long))).status == "failed"


async def test_what_an_endpoint_costs_is_counted_and_bounded(
    desk: Desk, endpoint: tuple[SpeechServer, SpeechEndpoint]
) -> None:
    server, speaker = endpoint
    desk.user = await opted_in(desk.runtime, desk.user)
    policy = replace(desk.runtime.ai, budget=Budget(daily_cost=30_000))
    speech = SpeechPolicy(speaker, price=0.015)
    desk.harness.runtime = replace(desk.runtime, speech=speech, ai=policy)
    text = f"<p>{'This is a sentence of some words. ' * 40}</p>"
    spoken = await _listen(desk, await _entry(desk, text))
    sent = sum(len(request["input"]) for request in server.requests)
    async with desk.runtime.db.read() as tx:
        spent = await ai_state.usage_since(tx, 0)
    assert spoken.status == "ready" and abs(spent.cost - sent * 15) <= 2 and spent.calls == len(server.requests)
    assert spent.tokens == 0
    failed = await _listen(desk, await _entry(desk, text))
    assert failed.error is not None and failed.error.code == FailureCode.BUDGET_EXCEEDED
    assert sum(len(request["input"]) for request in server.requests) == sent, "not a part of it is paid for"


async def test_an_endpoint_that_fails_is_left_alone_and_costs_nothing(
    desk: Desk, endpoint: tuple[SpeechServer, SpeechEndpoint]
) -> None:
    server, speaker = endpoint
    server.status = 503
    desk.user = await opted_in(desk.runtime, desk.user)
    policy = replace(desk.runtime.ai, breaker=BreakerPolicy(failure_threshold=2))
    desk.harness.runtime = replace(desk.runtime, speech=SpeechPolicy(speaker, price=1.0), ai=policy)
    for _ in range(4):
        with pytest.raises(Unavailable):
            await speak(desk.runtime, speaker, desk.user.id, "Hello.", "en", "")
    async with desk.runtime.db.read() as tx:
        assert (await ai_state.usage_since(tx, 0)).cost == 0
    assert len(server.requests) == 2
    server.status = 200
    desk.pass_time(301 * SECOND)
    await speak(desk.runtime, speaker, desk.user.id, "Hello.", "en", "")
    await set_paused(desk.runtime, paused=True)
    with pytest.raises(Unavailable):
        await speak(desk.runtime, speaker, desk.user.id, "Hello.", "en", "")
    assert len(server.requests) == 3


async def test_ranges_podcast_and_expiry(desk: Desk, endpoint: tuple[SpeechServer, SpeechEndpoint]) -> None:
    _, speaker = endpoint
    desk.user = await opted_in(desk.runtime, desk.user)
    _use(desk, speaker)
    spoken = await _listen(desk, await _entry(desk))
    whole = await _sound(desk, spoken)
    for wanted, part in (("bytes=10-19", whole[10:20]), ("bytes=-5", whole[-5:]), ("bytes=100-", whole[100:])):
        sound = await open_sound(desk.runtime, desk.user.id, spoken.id, wanted)
        assert (sound.status, b"".join([chunk async for chunk in sound.chunks])) == (206, part)

    opened = await publish_podcast(desk.runtime, desk.user.id, "Mine")
    name, episodes = await read_podcast(desk.runtime, opened.token)
    assert await podcast_owner(desk.runtime, opened.token) == desk.user.id
    feed = etree.fromstring(
        write_podcast(name, "https://r.example/f", "https://r.example", "https://r.example/p", episodes)
    )
    enclosure = feed.find("channel/item/enclosure")
    assert enclosure is not None
    assert enclosure.get("length") == str(len(whole)) and enclosure.get("type") == spoken.media_type
    duration = feed.find("channel/item/{http://www.itunes.com/dtds/podcast-1.0.dtd}duration")
    assert duration is not None and duration.text == str(spoken.seconds)
    with pytest.raises(NotFound):
        await read_podcast(desk.runtime, "wrong")

    async with desk.runtime.db.write() as tx:
        assert await listening.delete_expired(tx, desk.runtime.now() + 1, 50) == 1
    assert await newest_spoken(desk.runtime, desk.user.id) == []
    assert await desk.value("SELECT count(*) FROM spoken_parts") == 0
    assert await desk.value("SELECT count(*) FROM recordings") == 0


async def test_nobody_else_can_listen(desk: Desk, endpoint: tuple[SpeechServer, SpeechEndpoint]) -> None:
    _, speaker = endpoint
    desk.user = await opted_in(desk.runtime, desk.user)
    _use(desk, speaker)
    spoken = await _listen(desk, await _entry(desk))
    other = await new_desk(desk.harness)
    other.user = await opted_in(desk.runtime, other.user)
    with pytest.raises(NotFound):
        await open_sound(desk.runtime, other.user.id, spoken.id, None)
    with pytest.raises(NotFound):
        await request_spoken(desk.runtime, other.user, "entry", spoken.source_id)
