import hashlib

from reedbed.ingest.text import content_hash, normalized_text

LONG = "A sentence that is long enough to count as text of its own. " * 10


def test_markup_and_white_space_do_not_matter() -> None:
    assert content_hash("<p>One  two</p>\n<p>three</p>") == content_hash("<div>One\ttwo</div><b>three</b>")


def test_words_of_different_blocks_stay_apart() -> None:
    assert normalized_text("<p>One</p><p>two</p>") == "One two"


def test_case_matters() -> None:
    assert content_hash("<p>One</p>") != content_hash("<p>one</p>")


def test_advertising_does_not_matter() -> None:
    clean = f"<p>{LONG}</p>"
    for noise in ('<div class="ad">Buy</div>', '<p class="x ad-box">Buy</p>', '<div id="ads-1">Buy</div>'):
        assert content_hash(clean + noise) == content_hash(clean)


def test_a_short_text_keeps_what_only_looks_like_advertising() -> None:
    markup = '<div class="ad-hoc">Minutes of the meeting</div><p class="promo">Buy</p>'
    assert normalized_text(markup) == "Minutes of the meeting"


def test_lines_of_boilerplate_do_not_matter() -> None:
    assert normalized_text("<p>2026-02-03 10:00</p><p>Text</p><p>Read more…</p><p>Continues after ad</p>") == "Text"


def test_the_edges_stand_for_a_very_long_text() -> None:
    text = "a" * 150_000 + "b" * 150_000
    edges = (text[: 100 * 1024] + text[-100 * 1024 :]).encode()
    assert content_hash(text) == hashlib.sha256(edges).hexdigest()


def test_a_text_of_up_to_200_kilobytes_counts_whole() -> None:
    text = "a" * (200 * 1024)
    assert content_hash(text) == hashlib.sha256(text.encode()).hexdigest()
