// Highlights are painted over the text, never written into it.
import { announce } from "./announce.js";
import { say } from "./words.js";

const AROUND = 60;
let button = null;

export function highlightSelection() {
  const range = chosen();
  const form = document.getElementById("new-highlight");
  if (!range || !form) return false;
  const text = document.getElementById("prose").textContent;
  const quote = range.toString();
  const at = offsetOf(range);
  form.elements.quote.value = quote;
  form.elements.before.value = text.slice(Math.max(0, at - AROUND), at);
  form.elements.after.value = text.slice(at + quote.length, at + quote.length + AROUND);
  form.requestSubmit();
  getSelection().removeAllRanges();
  announce(say("highlighted"));
  return true;
}

/** Paint every kept quote, and every passage a score was given for, that is still in the text. */
function paint() {
  const prose = document.getElementById("prose");
  if (!window.Highlight) return;
  mark("kept", prose, "#article [data-highlight]");
  mark("evidence", prose, "#framing .said q");
}

function mark(name, prose, quotes) {
  const found = prose ? [...document.querySelectorAll(quotes)].map((quote) => find(prose, quote)) : [];
  CSS.highlights.set(name, new Highlight(...found.filter(Boolean)));
}

function find(prose, quote) {
  const place = placeOf(prose.textContent, quote);
  if (!place) return null;
  const [from, to] = place;
  const range = new Range();
  const walker = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
  let seen = 0;
  let begun = false;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const end = seen + node.length;
    if (!begun && from < end) {
      range.setStart(node, from - seen);
      begun = true;
    }
    if (begun && to <= end) {
      range.setEnd(node, to - seen);
      return range;
    }
    seen = end;
  }
  return null;
}

/** Of all places with these words, the one with most of what stood around them. White space does not count:
    a form rewrites line breaks. */
function placeOf(text, quote) {
  const [letters, places] = squeezed(text);
  const [words] = squeezed(quote.textContent);
  const [before] = squeezed(quote.dataset.before ?? "");
  const [after] = squeezed(quote.dataset.after ?? "");
  let best = -1;
  let most = -1;
  for (let at = words ? letters.indexOf(words) : -1; at >= 0; at = letters.indexOf(words, at + 1)) {
    const end = at + words.length;
    const fits =
      alike(backwards(letters.slice(Math.max(0, at - before.length), at)), backwards(before)) +
      alike(letters.slice(end, end + after.length), after);
    if (fits > most) [best, most] = [at, fits];
  }
  return best < 0 ? null : [places[best], places[best + words.length - 1] + 1];
}

/** A text without its white space, and where each letter of it stood. */
function squeezed(text) {
  const found = [...text.matchAll(/\S/g)];
  return [found.map(([letter]) => letter).join(""), found.map(({ index }) => index)];
}

function backwards(text) {
  return text.split("").reverse().join("");
}

function alike(one, other) {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

function chosen() {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  return document.getElementById("prose")?.contains(range.commonAncestorContainer) ? range : null;
}

function offsetOf(range) {
  const before = new Range();
  before.setStart(document.getElementById("prose"), 0);
  before.setEnd(range.startContainer, range.startOffset);
  return before.toString().length;
}

function offer() {
  const range = chosen();
  if (!range || !document.getElementById("new-highlight")) return void button?.remove();
  if (!button) {
    button = document.createElement("button");
    button.type = "button";
    button.className = "btn offer";
    button.textContent = say("highlight");
    button.addEventListener("pointerdown", (event) => event.preventDefault());
    button.addEventListener("click", highlightSelection);
  }
  const box = range.getBoundingClientRect();
  button.style.top = `${Math.max(8, box.top - 44)}px`;
  button.style.left = `${box.left + box.width / 2}px`;
  document.body.append(button);
}

document.addEventListener("selectionchange", () => chosen() ?? button?.remove());
document.addEventListener("pointerup", () => setTimeout(offer));
document.addEventListener("reedbed:article", paint);
// What was replaced is no longer in the page, so its name is asked for as well.
document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
  if (target.id === "highlights" || target.closest?.("#article")) paint();
});
