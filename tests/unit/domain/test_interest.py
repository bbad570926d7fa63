"""The model of a user's interest: what it learns, how it explains, and how lists are ordered by it."""

from collections import Counter
from dataclasses import replace

import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.interest.features import Candidate, features_of, named_features, read_feature
from reedbed.domain.interest.model import MAX_FEATURES, MAX_KNOWN, HitRate, InterestModel
from reedbed.domain.interest.order import EVERY, FIRST, PER_SOURCE, RankedEntry, rank
from reedbed.domain.times import DAY, HOUR
from tests.interest_readers import ASIDE, RANDOM, TUNED_ON, Replay, replay

READERS = 16


def _entry(number: int, title: str, *, feed: int = 1, author: str | None = None, at: int | None = None) -> Candidate:
    url = f"https://example.org/news/{number}"
    return Candidate(number, feed, title, url, author, "en", 400, at if at is not None else number * 1_000)


def _learnt() -> InterestModel:
    """A reader of bridges, by anybody, and of whatever Ines writes."""
    model = InterestModel()
    for number in range(0, 60, 3):
        now = (number // 10 + 1) * DAY
        model.learn(_entry(number + 1, f"The bridge number {number} closes"), "Courier", "read", now)
        model.learn(_entry(number + 2, f"Football match {number} ends", feed=2), "Sports", "passed", now)
        model.learn(_entry(number + 3, f"A quiet day {number}", feed=2, author="Ines Holm"), "Sports", "starred", now)
    return model


def test_terms_of_an_explanation_add_up_to_the_score() -> None:
    model = _learnt()
    model.pin(read_feature("word", "Quiet"), "more")
    model.pin(read_feature("source", "2"), "less")
    model.pin(read_feature("author", "Ines Holm"), "never")
    entries = [
        _entry(900, "A bridge closes the bridge", author="ines  holm"),
        _entry(901, "Quiet football, quiet match", feed=2),
        _entry(902, "", feed=3),
        _entry(903, "国产开源数据库发布长期支持版", feed=3),
        *(_entry(1000 + n, f"Bridge {n} of the match", feed=n % 4) for n in range(40)),
    ]
    for entry in entries:
        terms = model.explain(entry, "Source")
        assert sum(term.value for term in terms) == pytest.approx(model.score(features_of(entry)), abs=1e-9)
    reasons = {term.feature.kind: term.pin for term in model.explain(entries[0], "Source")}
    assert reasons["author"] == "never"


def test_names_and_hashes_of_features_agree() -> None:
    for title in (
        "The bridge that the bridge-builders close",
        "Münchens Brücken",
        "データベース公開",
        "¿Qué?",
        "a b c",
    ):
        entry = _entry(1, title, author="Ines")
        features = features_of(entry)
        assert {one.key for one in named_features(entry, "S")} == {features.source, *features.others, *features.topics}


def test_likes_and_dislikes_are_found_and_named() -> None:
    beliefs = {(belief.kind, belief.value): belief for belief in _learnt().beliefs()}
    assert beliefs["author", "ines holm"].weight > 0.5
    assert beliefs["author", "ines holm"].label == "Ines Holm"
    assert beliefs["word", "bridge"].weight > 0.2
    assert beliefs["word", "footbal"].weight < 0
    assert beliefs["word", "footbal"].label == "Football"
    assert beliefs["source", "1"].liked == beliefs["source", "1"].seen


def test_a_model_is_the_same_after_it_was_stored() -> None:
    model = _learnt()
    model.pin(read_feature("word", "bridge"), "more")
    loaded = InterestModel.load(model.dump())
    entry = _entry(900, "The bridge and the match", author="Ines Holm")
    assert loaded.score(features_of(entry)) == pytest.approx(model.score(features_of(entry)), abs=1e-4)
    assert loaded.beliefs()[0] == replace(model.beliefs()[0], **_counts(loaded))
    assert loaded.verdict() == model.verdict()
    assert loaded.known == model.known
    for_scores = InterestModel.load(replace(model.dump(), names=""))
    assert for_scores.score(features_of(entry)) == loaded.score(features_of(entry))
    assert InterestModel.load(replace(model.dump(), numbers=b"torn")).chosen == 0


def _counts(model: InterestModel) -> dict[str, float]:
    first = model.beliefs()[0]
    return {"weight": first.weight, "seen": first.seen, "liked": first.liked}


def test_a_model_stays_small() -> None:
    model = InterestModel()
    for number in range(4_000):
        words = " ".join(f"w{number}x{place}y" for place in range(9))
        model.learn(_entry(number + 1, words, feed=number % 90, author=f"A {number}"), "F", "read", number)
    stored = model.dump()
    assert len(model.weights) <= MAX_FEATURES
    assert len(model.known) == MAX_KNOWN
    assert len(stored.numbers) + len(stored.names.encode()) + len(str(stored.rest)) < 1_000_000


def test_an_act_teaches_once_and_opening_outdoes_passing_by() -> None:
    model = InterestModel()
    entry = _entry(1, "The bridge")
    assert model.learn(entry, "F", "passed", 0)
    assert not model.learn(entry, "F", "passed", 0)
    assert model.learn(entry, "F", "read", 0)
    assert not model.learn(entry, "F", "passed", 0)
    assert not model.learn(entry, "F", "read", 0)
    assert model.learn(entry, "F", "starred", 0)
    assert (model.chosen, model.passed) == (1, 1)


def test_the_share_of_a_source_is_known_from_the_beginning() -> None:
    model = InterestModel()
    model.start_with([(read_feature("source", "1"), 10, 9), (read_feature("source", "2"), 200, 1)])
    liked, ignored, unknown = (model.score(features_of(_entry(1, "", feed=feed))) for feed in (1, 2, 3))
    assert liked > unknown > ignored


def test_pins_act_at_once_and_can_be_taken_back() -> None:
    model = _learnt()
    entry = _entry(900, "The match", feed=2)
    before = model.score(features_of(entry))
    word = read_feature("word", "match")
    assert model.pin(word, "more") == ""
    assert model.score(features_of(entry)) > before + 1
    assert model.pin(word, "never") == "more"
    assert model.pin(word, "") == "never"
    assert model.score(features_of(entry)) == pytest.approx(before)
    for kind, label in (("word", "the"), ("source", "x"), ("nothing", "x"), ("author", " ")):
        with pytest.raises(Invalid):
            read_feature(kind, label)


def test_who_chooses_everything_or_one_source_only_is_not_ranked() -> None:
    everything, one_source, both = InterestModel(), InterestModel(), InterestModel()
    for number in range(1, 60):
        everything.learn(_entry(number, f"Word {number}", feed=number % 5), "F", "starred", 0)
        one_source.learn(_entry(number, f"Word {number}", feed=1), "F", "read" if number % 2 else "passed", 0)
        both.learn(_entry(number, f"Word {number}", feed=number % 5), "F", "read" if number % 2 else "passed", 0)
    assert (everything.verdict(), one_source.verdict(), both.verdict()) == ("uniform", "uniform", "unmeasured")
    assert InterestModel().verdict() == "learning"


def test_hits_are_measured_by_pairs_of_one_session() -> None:
    hits = HitRate()
    for session in range(8):
        now = session * DAY + DAY
        hits.note(0.0, now - 1, now, chosen=False)
        hits.note(1.0, now - 2, now + 1, chosen=True)  # older, but the model likes it more
        for place in range(5):
            hits.note(-1.0, now - 3 - place, now + 2 * HOUR // 3, chosen=False)
    rates = hits.rates()
    assert rates is not None and rates.pairs == 7 * 6
    assert rates.model == 1.0
    assert rates.time == pytest.approx(5 / 6)
    assert hits.is_better


# --- Order


def _list(model: InterestModel, *, sizes: tuple[int, ...] = (60, 40, 30, 20, 6, 2)) -> list[Candidate]:
    return [
        _entry(number, f"The bridge {number} is quiet", feed=feed, at=30 * DAY - number * HOUR)
        for number, feed in enumerate((feed for feed, size in enumerate(sizes, 1) for _ in range(size)), 1)
    ]


def test_the_order_hides_nothing_and_repeats_nothing() -> None:
    model = _learnt()
    for count in (0, 1, 7, 15, 16, 17, 100, 158):
        entries = _list(model)[:count]
        ranked = rank(entries, model, 30 * DAY)
        assert sorted(one.id for one in ranked) == sorted(entry.id for entry in entries)


def test_a_source_is_capped_in_the_first_rows() -> None:
    model, entries = _learnt(), _list(_learnt())
    ranked = rank(entries, model, 30 * DAY)
    sources = {entry.id: entry.feed_id for entry in entries}
    first = Counter(sources[one.id] for one in ranked[:FIRST] if not one.outside)
    assert max(first.values()) <= PER_SOURCE + 1


def test_rare_sources_are_lifted() -> None:
    model = InterestModel()
    ranked = rank(_list(model), model, 30 * DAY)
    rare = {entry.id for entry in _list(model) if entry.feed_id == 6}
    assert rare <= {one.id for one in ranked[:10]}


def test_every_eighth_row_is_from_outside_and_says_so() -> None:
    model = _learnt()
    ranked = rank(_list(model), model, 30 * DAY)
    assert [place for place, one in enumerate(ranked[:40]) if one.outside] == list(range(EVERY - 1, 40, EVERY))
    assert RankedEntry(1) in [replace(one, outside=False) for one in ranked]


# --- Readers with known tastes: predict, then learn


def _points(result: Replay) -> tuple[tuple[float, float], ...]:
    means = (result.model.means, result.newest.means, result.rate.means)
    return tuple((100 * auc, 100 * ndcg) for auc, ndcg in means)


@pytest.mark.parametrize("kind", ["topic", *ASIDE])
def test_a_taste_is_learnt_after_thirty_acts(kind: str) -> None:
    result = replay(kind, range(100, 100 + READERS))
    model, newest, rate = _points(result)
    assert model[0] > newest[0] + 10
    assert model[1] > newest[1] + 10
    assert model[0] > rate[0]
    assert model[1] > rate[1]
    assert Counter(result.verdicts)["better"] >= READERS - 2


def test_a_taste_for_sources_is_learnt_as_well_as_by_counting_them() -> None:
    assert "source" in TUNED_ON
    model, newest, rate = _points(replay("source", range(100, 100 + READERS)))
    assert model[0] > newest[0] + 10
    assert abs(model[0] - rate[0]) < 2
    assert abs(model[1] - rate[1]) < 2


def test_a_random_taste_costs_nothing_and_is_noticed() -> None:
    result = replay(RANDOM, range(100, 100 + 3 * READERS))
    model, newest, rate = _points(result)
    for other in (newest, rate):
        assert abs(model[0] - other[0]) < 2
        assert abs(model[1] - other[1]) < 2
    assert Counter(result.verdicts)["better"] <= 3 * READERS // 10
