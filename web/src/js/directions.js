// A quote or a list in another direction than the article around it is set in its own.
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/gu;
const LETTERS = /\p{L}/gu;
const BLOCKS = "p, ul, ol, dl, blockquote, h2, h3, h4, figcaption, table";

export function prepareDirections(read, prose) {
  const around = read.dir === "rtl" ? "rtl" : "ltr";
  if (around === "ltr" && prose.textContent.search(RIGHT_TO_LEFT) < 0) return;
  for (const block of prose.querySelectorAll(BLOCKS)) {
    const own = block.closest("[dir]") === read && directionOf(block.textContent);
    if (own && own !== around) block.dir = own;
  }
}

/** The direction of most letters; none for a text without letters. */
function directionOf(text) {
  const letters = text.match(LETTERS)?.length ?? 0;
  if (!letters) return "";
  return 2 * (text.match(RIGHT_TO_LEFT)?.length ?? 0) > letters ? "rtl" : "ltr";
}
