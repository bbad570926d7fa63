"""Asking one's own entries, as somebody does it on the page."""

from playwright.sync_api import expect

from tests.e2e.conftest import Walk, Way, both, keep_picture, violations


@both
def test_a_question_is_asked_and_its_answer_leads_to_the_entry(walk: Walk, way: Way) -> None:
    page = walk("/ask", way)
    page.get_by_label("Question").fill("Where have the herons come back to?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Where have the herons come back to?")).to_be_visible()
    expect(page.get_by_text("The reeds stand in the water again")).to_be_visible()
    expect(page.get_by_text("picked without a model")).to_be_visible()
    keep_picture(page, "ask", way)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    copied = page.get_by_role("button", name="Copy with sources").get_attribute("data-copy") or ""
    assert "the old canal.” [1]" in copied and "[1] The Marrowby Courier, 20" in copied and "http" in copied
    page.get_by_role("link", name="New question").click()
    expect(page.get_by_role("link", name="Where have the herons come back to?").first).to_be_visible()
