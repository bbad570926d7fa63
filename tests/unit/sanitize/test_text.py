import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reedbed.ingest.language import declared_language, detect_language, entry_language
from reedbed.ingest.sanitize import clean_html
from reedbed.ingest.text import clean_text, cut, digest_content, lead_image, plain_text, preview


def test_a_digest_holds_all_that_lists_need() -> None:
    html = clean_html('<h2>Head</h2><p>One <b>t</b>wo &amp; three</p><img src="https://e.example/a.png">', None)
    digest = digest_content(html)
    assert digest.text == "Head\nOne two & three"
    assert digest.preview == "Head One two & three"
    assert digest.image == "https://e.example/a.png"
    assert digest.words == 5


@pytest.mark.parametrize("space", [sign for sign in map(chr, range(sys.maxunicode)) if sign.isspace()])
def test_every_white_space_is_one_blank(space: str) -> None:
    digest = digest_content(f"<p>one{space}two</p>")
    assert digest.text == "one two"
    assert digest.preview == "one two"
    assert digest.words == 2


def test_a_line_is_a_block_however_the_source_is_wrapped() -> None:
    wrapped = "<p>A long sentence\n  goes on here.</p>\n\n<pre>one\ntwo</pre>\n<p>Last\n</p>"
    assert digest_content(wrapped).text == "A long sentence goes on here.\none\ntwo\nLast"


@given(st.text(st.sampled_from("ab \n\t\xa0\u2003é水")))
def test_a_text_is_its_words_with_a_blank_between(text: str) -> None:
    lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    assert digest_content(text).text == "\n".join(lines)


def test_the_parts_of_a_formula_stay_apart_on_one_line() -> None:
    half = "<p>It is <math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> of it</p>"
    assert digest_content(half).text == "It is 1 2 of it"
    assert plain_text("Spin <math><mn>2</mn><annotation>2</annotation></math>") == "Spin 2"


def test_no_space_comes_between_a_formula_and_the_comma_or_bracket_beside_it() -> None:
    sum_of_two = "<math><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></math>"
    assert clean_text(f"<p>So {sum_of_two}, or ({sum_of_two}).</p>") == "So a + b, or (a + b)."
    assert clean_text('<p>So<math display="block"><mi>a</mi></math>holds.</p>') == "So a holds."


def test_the_copy_of_a_formula_for_old_browsers_is_not_read_a_second_time() -> None:
    formula = "<math><mi>x</mi></math><span class='katex-html'><span>x</span></span>"
    assert plain_text(f"On {formula}") == "On x"


def test_text_that_looks_like_markup_stays_text() -> None:
    assert digest_content(clean_html("<p>&lt;img src=x&gt;</p>", None)).text == "<img src=x>"


def test_a_preview_is_of_the_text_itself() -> None:
    html = (
        '<figure><img src="https://e.example/a.png"><figcaption>Seen from the lock.</figcaption></figure><p>The council'
        ' voted.<sup><a href="#fn1">1</a></sup> It is done.</p><iframe src="https://www.youtube.com/embed/a1b2c3d4e5f">'
        "</iframe><p>See?</p>"
    )
    digest = digest_content(clean_html(html, None))
    assert digest.preview == "The council voted. It is done. See?"
    assert "Seen from the lock." in digest.text


def test_the_preview_of_a_lone_picture_is_what_is_said_with_it() -> None:
    picture = '<img src="https://e.example/a.png" alt="A comic" title="%s">'
    joke = picture % "Version 4 is a promise &amp; no more."
    assert digest_content(clean_html(joke, None)).preview == "Version 4 is a promise & no more."
    assert digest_content(clean_html(picture % "IMG_2342", None)).preview == ""
    captioned = f"<figure>{joke}<figcaption>At dusk.</figcaption></figure>"
    assert digest_content(clean_html(captioned, None)).preview == "At dusk."


def test_hostile_markup_gives_words_alone() -> None:
    assert plain_text("<p>One<script>alert(1)</script></p><style>x</style><p>two") == "One two"


def test_a_preview_ends_with_a_whole_word() -> None:
    assert cut("one two three", 9) == "one two…"
    assert preview("<p>one   two</p>") == "one two"
    assert len(preview("word " * 200)) <= 300
    assert len(cut("x" * 400, 300)) == 300


def test_a_preview_leaves_out_the_marks_of_footnotes() -> None:
    digest = digest_content('<p>A ring.<sup><a href="#f">1</a></sup> It has 2<sup>10</sup> buckets.<sup>[2]</sup></p>')
    assert digest.preview == "A ring. It has 210 buckets."
    assert digest.text == "A ring.1 It has 210 buckets.[2]"


def test_the_lead_image_is_one_worth_seeing() -> None:
    html = clean_html(
        '<img src="https://secure.gravatar.com/a"><img src="https://e.example/icon.png" width="16">'
        '<img src="http://e.example/a.jpg?x=1&amp;y=2">',
        None,
    )
    assert lead_image(html) == "http://e.example/a.jpg?x=1&y=2"
    assert lead_image("<p>x</p>") is None


def test_words_are_counted_in_scripts_without_spaces_too() -> None:
    assert digest_content("one two").words == 2
    assert digest_content("<p>今天天气很好</p>").words == 6


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The council has voted on the new plan for the harbour.", "en"),
        ("Der Rat hat über den neuen Plan für den Hafen abgestimmt.", "de"),
        ("Le conseil a voté sur le nouveau plan pour le port.", "fr"),
        ("El consejo ha votado sobre el nuevo plan para el puerto.", "es"),
        ("O conselho votou sobre o novo plano para o porto.", "pt"),
        ("Il consiglio ha votato sul nuovo piano per il porto.", "it"),
        ("De raad heeft gestemd over het nieuwe plan voor de haven.", "nl"),
        ("Rådet har röstat om den nya planen för hamnen och det är bra.", "sv"),
        ("Rada głosowała nad nowym planem dla portu i to jest dobre.", "pl"),
        ("Совет проголосовал за новый план, и это хорошо.", "ru"),
        ("Рада проголосувала за новий план, і це добре.", "uk"),
        ("議会は港の新しい計画について投票した。", "ja"),
        ("议会就港口的新计划进行了投票。", "zh"),
        ("의회는 새 계획에 투표했다.", "ko"),
        ("צה המועצה הצביעה על התוכנית", "he"),
        ("صوت المجلس على الخطة الجديدة", "ar"),
        ("Το συμβούλιο ψήφισε για το σχέδιο", "el"),
        ("42 + 17 = 59", None),
        ("", None),
    ],
)
def test_a_language_is_heard_in_one_sentence(text: str, language: str | None) -> None:
    assert detect_language(text) == language


def test_a_declared_language_is_believed() -> None:
    assert entry_language("pt_br", "The council has voted") == "pt-BR"
    assert entry_language("none of it", "The council has voted") == "en"
    assert declared_language("x" * 50) is None
