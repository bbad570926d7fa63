"""Translated blocks: cutting markup, markers, the check of a block, and putting them together."""

import re
from html import unescape

import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.translations import Problem, problem_of, same_language
from reedbed.domain.users import Preferences, change_preferences
from reedbed.ingest.blocks import cut_blocks, put_together
from reedbed.ingest.sanitize.cleaner import clean_html
from tests.translationserver import translated

ARTICLE = """
<h2 id="nets">Fishermen return to cotton nets</h2>
<p>The <b>three boats</b> left the old <a href="https://harbour.example/map?a=1&amp;b=2">harbour</a> before dawn with
12 nets, and <i>came <a href="https://fish.example/">back</a> late</i>.<img src="https://harbour.example/boats.jpg"
 alt="Boats"></p>
<ul><li>Run <code>reef --knots 3</code> to see the nets.</li>
<li><a href="https://one.example/">Only a link</a></li></ul>
<pre><code>for net in nets: print("cotton rots")</code></pre>
<blockquote>“Nylon catches everything,” says Salim.<br><br>He mends nets on the quay.</blockquote>
<figure><img src="https://harbour.example/quay.jpg" alt="The quay">
<figcaption>The stone quay in May</figcaption></figure>
<table><tbody><tr><th>Boat</th><td>Weight in tons: 4.5</td></tr></tbody></table>
<p>See https://harbour.example/nets or write to nets@harbour.example today.</p>
<p>12 : 30</p>
<p><a href="https://harbour.example/all"><strong>Everything about the harbour</strong></a></p>
<p>A footnote<sup><a href="https://harbour.example/note">[1]</a></sup> stands here.</p>
"""


def _clean() -> str:
    return clean_html(ARTICLE, "https://harbour.example/")


def test_markup_that_was_cut_is_put_together_unchanged() -> None:
    markup = cut_blocks(_clean())
    assert put_together(markup, lambda block: block.markup(block.text)) == _clean()


def test_a_block_has_markers_for_tags_and_one_for_what_is_not_translated() -> None:
    texts = [block.text for block in cut_blocks(_clean()).blocks]
    assert texts[0] == "Fishermen return to cotton nets"
    assert " ".join(texts[1].split()) == (
        "The ⟦1⟧three boats⟦/1⟧ left the old ⟦2⟧harbour⟦/2⟧ before dawn with 12 nets, and ⟦3⟧came ⟦4⟧back⟦/4⟧ late⟦/3⟧."
    )
    assert texts[2] == "Run ⟦1⟧ to see the nets."
    assert "Only a link" in texts and "Everything about the harbour" in texts
    assert "See ⟦1⟧ or write to ⟦2⟧ today." in texts
    assert "A footnote⟦1⟧ stands here." in texts
    assert not any("cotton rots" in text or "12 : 30" in text for text in texts)


def test_a_formula_is_not_translated() -> None:
    formula = '<math display="block"><mi>x</mi><mtext>if</mtext></math>'
    (block,) = cut_blocks(f"<p>So {formula} holds</p>").blocks
    assert block.text == "So ⟦1⟧ holds"
    assert block.markup("Also gilt ⟦1⟧") == f"Also gilt {formula}"


def test_every_word_can_change_while_links_images_and_code_stay() -> None:
    markup = cut_blocks(_clean())
    changed = put_together(markup, lambda block: block.markup(translated(block.text, "de")))
    for pattern in (r'href="([^"]*)"', r'src="([^"]*)"', r"<code>.*?</code>", r"<(/?\w+)"):
        assert re.findall(pattern, changed) == re.findall(pattern, _clean())
    assert clean_html(changed, None) == changed
    assert "harbour</a>" not in changed and "cotton nets" not in changed


def test_characters_with_a_meaning_in_markup_survive() -> None:
    clean = clean_html("<p>Tom &amp; Jerry say 1 &lt; 2 in <b>this</b> film</p>", None)
    (block,) = cut_blocks(clean).blocks
    assert block.text == "Tom & Jerry say 1 < 2 in ⟦1⟧this⟦/1⟧ film"
    assert put_together(cut_blocks(clean), lambda block: block.markup(block.text)) == clean
    assert block.markup("<script>⟦1⟧x⟦/1⟧") == "&lt;script&gt;<b>x</b>"


def test_a_long_text_is_split_between_sentences() -> None:
    clean = f"<div>{'A sentence of some words stands here. ' * 100}</div>"
    blocks = cut_blocks(clean).blocks
    assert len(blocks) > 2 and all(len(block.text) < 2_000 and block.text.endswith(".") for block in blocks)
    assert put_together(cut_blocks(clean), lambda block: block.markup(block.text)) == clean


def test_a_link_around_several_paragraphs_stays_around_them() -> None:
    clean = '<a href="https://a.example/"><p>One word</p><p>Two words</p></a><b>Loose <p>end</p></b>'
    assert put_together(cut_blocks(clean), lambda block: block.markup(block.text)) == clean
    assert [block.text for block in cut_blocks(clean).blocks][:2] == ["One word", "Two words"]


FIRST = "The ⟦1⟧three boats⟦/1⟧ left with ⟦2⟧ and 12 nets."


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("Die ⟦1⟧drei Boote⟦/1⟧ fuhren mit ⟦2⟧ und 12 Netzen.", None),
        ("Mit ⟦2⟧ und 12 Netzen fuhren die ⟦1⟧drei Boote⟦/1⟧.", None),
        ("Die ⟦1⟧drei Boote fuhren mit ⟦2⟧ und 12 Netzen.", "markers"),
        ("Die drei Boote fuhren mit ⟦2⟧ und 12 Netzen.", "markers"),
        ("Die ⟦1⟧drei ⟦2⟧ Boote⟦/1⟧ fuhren mit und 12 Netzen.", "markers"),
        ("Die ⟦1⟧⟦/1⟧ drei Boote fuhren mit ⟦2⟧ und 12 Netzen.", "markers"),
        ("Die ⟦/1⟧drei Boote⟦1⟧ fuhren mit ⟦2⟧ und 12 Netzen.", "markers"),
        ("Die ⟦1⟧drei Boote⟦/1⟧ fuhren mit ⟦2⟧ ⟦2⟧ und 12 Netzen.", "markers"),
        ("Die ⟦1⟧drei Boote⟦/1⟧ fuhren mit ⟦2⟧⟦3⟧ und 12 Netzen.", "markers"),
        ("Die ⟦1⟧drei Boote⟦/1⟧ fuhren mit ⟦2⟧ und 13 Netzen.", "numbers"),
        ("Die ⟦1⟧drei Boote⟦/1⟧ fuhren mit ⟦2⟧ und 12 Netzen, siehe https://evil.example/.", "links"),
        ("Die ⟦1⟧drei Boote⟦/1⟧ fuhren mit ⟦2⟧ und <b>12</b> Netzen.", "links"),
        ("Die ⟦1⟧Boote⟦/1⟧⟦2⟧12", "length"),
        ("Die ⟦1⟧drei Boote⟦/1⟧ fuhren mit ⟦2⟧ und 12 Netzen. " + "Als Übersetzer merke ich an, dass " * 5, "length"),
    ],
)
def test_a_block_is_checked(answer: str, problem: Problem | None) -> None:
    assert problem_of(FIRST, answer, source="en") == problem


def test_numbers_may_be_written_in_another_way() -> None:
    assert problem_of("It cost 1,000.50 euros at 17:30.", "Es kostete 1000,50 Euro um 17:30.") is None
    assert problem_of("It starts at 17:30 sharp.", "Es beginnt pünktlich um 17.30 Uhr.") is None
    assert problem_of("In 1992 it was 5 metres long.", "كان طوله ٥ أمتار في عام ١٩٩٢.") is None
    assert problem_of("In 1992 it was here.", "Im Jahr 1929 war es hier.") == "numbers"


def test_a_text_that_loses_all_its_names_is_rejected() -> None:
    original = "Yesterday the ministers Haddad, Okafor and Lindqvist met in Marrowby for a long talk."
    assert problem_of(original, "Gestern trafen sich die Minister Haddad, Okafor und Lindqvist in Marrowby.") is None
    lost = "Gestern trafen sich die Minister und der Bürgermeister zu einem langen Gespräch in der Stadt."
    assert problem_of(original, lost, source="en") == "names"


def test_entities_do_not_hide_markup_in_an_answer() -> None:
    (block,) = cut_blocks("<p>Some words</p>").blocks
    assert unescape(block.markup("&lt;img src=x onerror=alert(1)&gt;")) == "&lt;img src=x onerror=alert(1)&gt;"


def test_variants_of_a_language_are_one_but_chinese_scripts_are_two() -> None:
    assert same_language("en-GB", "en") and same_language("zh-CN", "zh")
    assert not same_language("zh-TW", "zh") and not same_language("", "")


def test_languages_that_one_reads_are_codes() -> None:
    assert change_preferences(Preferences(), {"languages_read": "de, en"}).languages_read == "de, en"
    with pytest.raises(Invalid):
        change_preferences(Preferences(), {"languages_read": "German"})
