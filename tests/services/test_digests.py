"""Digests: what they tell, how they are asked for, and how they fail."""

import json
import re
from dataclasses import replace

import pytest

from reedbed.domain.digests import Digest, DigestScope, digest_markdown
from reedbed.domain.email import Email, Sent
from reedbed.domain.errors import NotFound
from reedbed.domain.failures import failure_sentence
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.times import DAY, HOUR, MINUTE
from reedbed.services.digests import DIGEST_JOB as JOB_KIND
from reedbed.services.digests import JOB_KIND as DIGEST_MAIL
from reedbed.services.digests import ask_digest, enqueue_due_digests, get_digest, set_schedule
from reedbed.services.jobs import claim, run
from reedbed.services.search import find as search
from reedbed.services.search.upkeep import repair_search
from reedbed.services.stories import StoryGrouper, join_entries, split_entry
from reedbed.worker.jobs import HANDLERS
from tests.modelserver import ModelServer, Question, Reply
from tests.services.writing import BREAD, HERON, STORY, Desk

EVERYTHING = DigestScope()
SNOW = "Heavy snow closed the mountain pass for the whole of Sunday. Two hundred lorries waited in the valley."


async def test_ten_reports_of_one_event_are_one_item(desk: Desk) -> None:
    for number in range(5):
        feed = await desk.harness.follow(f"http://127.0.0.1:9/b{number}.xml", user_id=desk.user.id)
        await desk.entry(f"{STORY} Our reporter {number} was there.", title="Council closes bridge", feed_id=feed)
    heron = await desk.entry(HERON, title="A heron in the crane")
    digest = await written(desk)
    assert digest.status == "ready" and digest.entries == 6 and digest.text.items == 2
    sentences = [one for paragraph in digest.text.paragraphs for one in paragraph.sentences]
    assert sorted(len(one.entry_ids) for one in sentences) == [1, 5]
    assert (heron,) in [one.entry_ids for one in sentences]
    assert digest.model == "extract" and digest.text.feeds == 6


async def test_a_digest_stands_in_the_event_log(desk: Desk) -> None:
    await desk.entry(HERON, title="Heron")
    await written(desk)
    told = await desk.harness.column("SELECT detail FROM event_log WHERE kind = 'digest_generated'")
    assert told == ['{"article_count":1}']


async def test_every_sentence_is_linked_and_every_link_is_listed(desk: Desk) -> None:
    for title, text in {"Heron": HERON, "Bread": BREAD, "Snow": SNOW, "Bridge": STORY}.items():
        await desk.entry(text, title=title)
    digest = await written(desk)
    cited = {id_ for part in digest.text.paragraphs for one in part.sentences for id_ in one.entry_ids}
    assert cited == {source.entry_id for source in digest.text.sources}
    assert all(one.entry_ids for part in digest.text.paragraphs for one in part.sentences)
    assert [part.kind for part in digest.text.paragraphs] == ["top"]


async def test_folders_give_the_headings_and_narrow_the_digest(desk: Desk) -> None:
    near = await _folder(desk, "Around home")
    far = await _folder(desk, "Further off")
    titles = ("Canal drained", "Choir sings outdoors", "Museum lends bicycles", "Wolves return")
    for number, title in enumerate(titles):
        other = await desk.harness.follow(f"http://127.0.0.1:9/o{number}.xml", user_id=desk.user.id)
        for feed_id in (desk.feed_id, other):
            await desk.entry(f"{title}.", title=title, feed_id=feed_id, more="")
    for folder, text in ((near, HERON), (far, SNOW)):
        feed = await desk.harness.follow(f"http://127.0.0.1:9/f{folder}.xml", user_id=desk.user.id)
        await desk.harness.change(
            "UPDATE subscriptions SET folder_id = :f WHERE feed_id = :id RETURNING 1", f=folder, id=feed
        )
        await desk.entry(text, title=text[:20], feed_id=feed, more="")
    whole = await written(desk)
    headings = [part.heading for part in whole.text.paragraphs if part.kind == "folder"]
    assert headings == ["Around home", "Further off"]
    narrow = await written(desk, DigestScope(folder_id=far))
    assert narrow.entries == 1


async def test_a_digest_whose_search_takes_too_long_fails_in_plain_words(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.entry(HERON, title="Heron")
    await repair_search(desk.runtime)
    asked = await ask_digest(desk.runtime, desk.user, DigestScope(q="heron"))
    monkeypatch.setattr(search, "SECONDS", -1.0)
    await work(desk)
    ended = await get_digest(desk.runtime, desk.user.id, asked.id)
    assert ended.status == "failed"
    assert "takes too long" in failure_sentence(ended.error)


async def test_only_the_last_day_and_at_most_a_hundred_entries_are_told(desk: Desk) -> None:
    await desk.entry(HERON, title="Old news")
    desk.pass_time(25 * HOUR)
    for number in range(103):
        await desk.entry(f"Item {number} of the list is told here with its own number {number * 7919}.")
    digest = await written(desk)
    assert digest.entries == 100
    assert all(source.title != "Old news" for source in digest.text.sources)


async def test_nothing_new_is_said_at_once(desk: Desk) -> None:
    with pytest.raises(NotFound, match=r"^No articles found from the last 24 hours$"):
        await ask_digest(desk.runtime, desk.user)
    assert await desk.value("SELECT count(*) FROM digests") == 0


async def test_a_digest_since_the_last_one_tells_only_what_is_new(desk: Desk) -> None:
    await desk.entry(HERON)
    desk.pass_time(MINUTE)
    await written(desk)
    desk.pass_time(MINUTE)
    await desk.entry(SNOW, title="Snow")
    asked = await ask_digest(desk.runtime, desk.user, since_last=True)
    await work(desk)
    assert (await get_digest(desk.runtime, desk.user.id, asked.id)).entries == 1


async def test_a_digest_by_a_wrong_clock_does_not_silence_the_next(desk: Desk) -> None:
    await desk.entry(HERON)
    await written(desk)
    await desk.harness.change("UPDATE digests SET until = until + :years", years=3650 * 24 * HOUR)
    desk.pass_time(MINUTE)
    await desk.entry(SNOW, title="Snow")
    assert await ask_digest(desk.runtime, desk.user, since_last=True)


async def test_the_second_digest_finds_the_summaries_of_the_first(desk: Desk) -> None:
    entry = await desk.entry()
    await written(desk)
    state = await desk.ask(entry)
    assert state.status == "ready"


async def test_a_model_tells_it_and_what_has_no_source_is_dropped(modelled: Desk, server: ModelServer) -> None:
    first = await modelled.entry(HERON, title="Heron")
    said = {
        "paragraphs": [
            {
                "heading": "",
                "sentences": [
                    {"text": "Something nobody wrote.", "sources": []},
                    {"text": "A lie about another entry.", "sources": [77]},
                    {"text": "A heron has 31 eggs.", "sources": [1]},
                    {"text": "A heron nests in a <b>crane</b>. See https://evil.example/x [1]", "sources": [1, 99]},
                    {"text": "Told a second time.", "sources": [1]},
                ],
            }
        ]
    }
    server.say(Reply(text=json.dumps(said)))
    digest = await written(modelled)
    (paragraph,) = digest.text.paragraphs
    assert [(one.text, one.entry_ids) for one in paragraph.sentences] == [("A heron nests in a crane . See", (first,))]
    assert (paragraph.kind, digest.text.dropped, digest.model) == ("top", 3, "scripted")


async def test_the_built_in_sentence_stands_where_a_model_has_none(modelled: Desk, server: ModelServer) -> None:
    heron = await modelled.entry(HERON, title="Heron", more="")
    bread = await modelled.entry(BREAD, title="Bread", more="")

    def answer(question: Question) -> Reply:
        material = question["messages"][1]["content"]
        numbers = {title: int(number) for number, title in re.findall(r"^\[(\d+)\] (\w+)", material, re.MULTILINE)}
        sentences = [
            {"text": "Herons were seen by Jonas Brandt.", "sources": [numbers["Heron"]]},
            {"text": "It is about bread.", "sources": [numbers["Bread"]]},
        ]
        return Reply(text=json.dumps({"paragraphs": [{"heading": "", "sentences": sentences}]}))

    server.behave = answer
    digest = await written(modelled)
    told = {one.entry_ids[0]: one.text for paragraph in digest.text.paragraphs for one in paragraph.sentences}
    assert told[bread] == "It is about bread."
    assert told[heron] in HERON and digest.text.dropped == 1


async def test_a_digest_follows_the_stories_of_its_reader(desk: Desk) -> None:
    ids: list[int] = []
    for number in range(3):
        feed = await desk.harness.follow(f"http://127.0.0.1:9/s{number}.xml", user_id=desk.user.id)
        ids.append(await desk.entry(STORY, title="Council closes bridge", feed_id=feed))
    heron = await desk.entry(HERON, title="A heron in the crane")
    await StoryGrouper().group_new(desk.runtime)
    (story,) = await desk.harness.column("SELECT id FROM stories")
    await split_entry(desk.runtime, desk.user.id, story, ids[2])
    await join_entries(desk.runtime, desk.user.id, [heron, ids[0]])
    digest = await written(desk)
    told = {frozenset(one.entry_ids) for paragraph in digest.text.paragraphs for one in paragraph.sentences}
    assert frozenset((ids[0], ids[1], heron)) in told
    assert all(ids[2] not in entry_ids or entry_ids == {ids[2]} for entry_ids in told)


async def test_a_failed_call_is_tried_once_more(modelled: Desk, server: ModelServer) -> None:
    await modelled.entry(HERON)
    server.say(Reply(500))
    assert (await written(modelled)).status == "ready"
    assert server.calls == 2


async def test_the_extract_stands_in_for_a_model_that_fails_twice(modelled: Desk, server: ModelServer) -> None:
    await modelled.entry(HERON)
    server.say(Reply(500), Reply(text="nonsense"))
    digest = await written(modelled)
    assert (digest.status, digest.model, digest.text.fallback) == ("ready", EXTRACT, True)
    assert digest.text.paragraphs and server.calls == 2
    assert await modelled.value("SELECT failures FROM ai_models") == 2, "nonsense counts for the breaker"
    assert "The model did not answer" in digest_markdown(digest, "")


async def test_the_extract_stands_in_for_a_model_that_is_left_alone(modelled: Desk, server: ModelServer) -> None:
    await modelled.entry(HERON)
    server.say(*[Reply(500)] * 5)
    await modelled.ask(await modelled.entry(STORY))
    await modelled.write()
    digest = await written(modelled)
    assert (digest.status, digest.model, digest.text.fallback) == ("ready", EXTRACT, True)
    assert server.calls == 5
    modelled.pass_time(DAY // 2)
    digest = await written(modelled)
    assert (digest.model, digest.text.fallback) == ("scripted", False)


async def test_a_digest_by_the_clock_comes_at_its_time_and_by_mail(desk: Desk) -> None:
    post = Post()
    desk.harness.runtime = replace(desk.runtime, mailer=post)
    await desk.entry(HERON, title="A heron")
    planned = await set_schedule(
        desk.runtime, desk.user, minute=7 * 60, zone="Europe/Berlin", scope=DigestScope(), mail=True
    )
    assert await enqueue_due_digests(desk.runtime) == 0
    desk.pass_time(planned.next_at - desk.runtime.now() + 1)
    await desk.entry(SNOW, title="Snow")
    assert await enqueue_due_digests(desk.runtime) == 1
    assert await enqueue_due_digests(desk.runtime) == 0
    await work(desk)
    (letter,) = post.letters
    assert letter.to == desk.user.email and "Snow" in letter.text and "/digests/" in letter.text
    desk.pass_time(DAY)
    await desk.entry(BREAD, title="Bread")
    assert await enqueue_due_digests(desk.runtime) == 1


async def test_two_processes_ask_for_a_scheduled_digest_once(desk: Desk) -> None:
    await desk.entry(HERON)
    planned = await set_schedule(desk.runtime, desk.user, minute=0, zone="UTC", scope=DigestScope(), mail=False)
    desk.pass_time(planned.next_at - desk.runtime.now() + 1)
    await desk.entry(SNOW)
    second = replace(desk.runtime, name="that worker")
    assert await enqueue_due_digests(desk.runtime) + await enqueue_due_digests(second) == 1


class Post:
    """Keeps the letters it is given."""

    def __init__(self) -> None:
        self.letters: list[Email] = []

    async def send(self, letter: Email, now: int) -> Sent:
        self.letters.append(letter)
        return Sent()


async def written(desk: Desk, scope: DigestScope = EVERYTHING) -> Digest:
    asked = await ask_digest(desk.runtime, desk.user, scope)
    assert asked.status == "pending"
    await work(desk)
    return await get_digest(desk.runtime, desk.user.id, asked.id)


async def work(desk: Desk) -> None:
    while (job := await claim(desk.runtime, [JOB_KIND, DIGEST_MAIL])) is not None:
        await run(desk.runtime, job, HANDLERS[job.kind])


async def _folder(desk: Desk, name: str) -> int:
    await desk.harness.change(
        "INSERT INTO folders (user_id, name, created_at) VALUES (:u, :n, 1) RETURNING id", u=desk.user.id, n=name
    )
    return await desk.value("SELECT id FROM folders WHERE name = :n", n=name)
