"""3. The article: set like a page of a book, marked, tagged, highlighted, left and come back to."""

from playwright.sync_api import expect

from tests.e2e.conftest import DESK, Walk, Way, both, keep_picture, until, violations


@both
def test_an_article_is_read_and_worked_with(walk: Walk, way: Way) -> None:
    page = walk("/all", way)
    page.locator(".row h3 a", has_text="Herons return").click()
    article = page.locator("#article")
    expect(article.locator(".read-by")).to_contain_text("Tobin Ferrow")
    expect(article.locator(".read-by")).to_contain_text("min")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    measure = article.locator(".prose > p").first.evaluate("p => p.getBoundingClientRect().width")
    assert measure <= 720
    expect(article.locator("table")).to_have_count(2)
    expect(article.locator("table[data-layout]")).to_have_text("One cell, as mails have it.")

    page.locator("#tag-menu > summary").click()
    page.fill("#new-tag", "birds, canal")
    page.locator("#tags button[name=value]").click()
    expect(article.locator("#tags .chip a")).to_have_text(["birds", "canal"])
    expect(article.locator("#tag-line .chip a")).to_have_text(["birds", "canal"])
    keep_picture(page, "article-tags", way)
    for tag in ("birds", "canal"):
        article.locator(f"button[name=remove_tag][value={tag}]").click()
        expect(article.locator(".chip a", has_text=tag)).to_have_count(0)

    page.keyboard.press("Escape")
    article.locator(".prose img").click()
    expect(page.locator("#lightbox[open]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#lightbox[open]")).to_have_count(0)
    assert violations(page) == []


def test_a_highlight_is_painted_noted_and_survives_a_failed_full_article(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.locator(".row h3 a", has_text="A second look").click()
    expect(page.locator("#article h1")).to_have_text("A second look at the canal")
    page.locator("#prose p").first.evaluate(
        "p => { const range = new Range(); range.setStart(p.firstChild, 4); range.setEnd(p.firstChild, 19);"
        " getSelection().removeAllRanges(); getSelection().addRange(range); }"
    )
    page.keyboard.press("h")
    expect(page.locator("#article [data-highlight]")).to_have_text("reeds stand in")
    until(page, "CSS.highlights.get('kept-yellow')?.size === 1")
    page.reload()
    until(page, "CSS.highlights.get('kept-yellow')?.size === 1")
    expect(page.locator("#prose pre")).to_have_attribute("tabindex", "0")  # code that scrolls is reachable
    page.keyboard.press("f")
    expect(page.locator("#article .prose, #article .banner").first).to_be_visible()
    until(page, "CSS.highlights.get('kept-yellow')?.size === 1")
    page.goto(page.url.partition("/all")[0] + "/highlights")
    expect(page.get_by_text("reeds stand in")).to_be_visible()
    assert violations(page) == []


def test_a_highlight_is_painted_where_it_was_made_and_over_a_line_break(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.locator(".row h3 a", has_text="A fourth").click()
    expect(page.locator("#article h1")).to_have_text("A fourth")
    for place, words in (("figcaption", "heron"), ("p:last-of-type", "sentence\nafter")):
        page.locator(f"#prose {place}").evaluate(
            "(node, words) => { const text = node.firstChild, at = text.data.indexOf(words);"
            " const range = new Range(); range.setStart(text, at); range.setEnd(text, at + words.length);"
            " getSelection().removeAllRanges(); getSelection().addRange(range); }",
            words,
        )
        page.keyboard.press("h")
        expect(page.locator("#article [data-highlight]", has_text=words.split()[0])).to_have_count(1)
    page.reload()
    painted = (
        "[...(CSS.highlights.get('kept-yellow') ?? [])]"
        ".map(range => `${range.startContainer.parentElement.localName} ${range}`).sort().join()"
    )
    until(page, f"{painted} === 'figcaption heron,p sentence\\nafter'")


def test_next_and_previous_need_no_way_back(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.locator(".row h3 a").nth(1).click()
    second = page.locator("#article h1").inner_text()
    page.locator("#article-bar [data-act=next]").click()
    expect(page.locator("#article h1")).not_to_have_text(second)
    page.locator("#article-bar [data-act=previous]").click()
    expect(page.locator("#article h1")).to_have_text(second)


def test_hostile_content_does_nothing(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.locator(".row h3 a", has_text="Hostile").click()
    expect(page.locator("#article .prose")).to_contain_text("Text")
    page.locator("#article .prose p").first.click()
    page.wait_for_timeout(200)
    assert page.evaluate("window.hurt") is None
    assert page.locator("#article .prose :is(script, style, iframe, form, svg)").count() == 0
