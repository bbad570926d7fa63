// Highlights are painted over the text, never written into it.
import { announce } from "./announce.js";
import { selectedText } from "./dom.js";
import { process } from "./htmx.js";
import { translate } from "./i18n.js";

const AROUND = 60;
const COLORS = ["yellow", "green", "blue", "rose"];
const LAST_COLOR = "highlight-color";
let painted = []; // [quote element, range]

export function lastColor() {
  const kept = localStorage.getItem(LAST_COLOR);
  return COLORS.includes(kept) ? kept : COLORS[0];
}

/** Highlight the selected text; without a colour, in the one used last. */
export function highlightSelection(color = lastColor()) {
  const range = selectedText();
  const form = document.getElementById("new-highlight");
  if (!range || !form) return false;
  const text = document.getElementById("prose").textContent;
  const quote = range.toString();
  const at = offsetOf(range);
  form.elements.quote.value = quote;
  form.elements.before.value = text.slice(Math.max(0, at - AROUND), at);
  form.elements.after.value = text.slice(at + quote.length, at + quote.length + AROUND);
  form.elements.color.value = color;
  localStorage.setItem(LAST_COLOR, color);
  process(form).then(() => form.requestSubmit()); // else the form waits until the text is painted
  getSelection().removeAllRanges();
  announce(translate("highlighted"));
  return true;
}

/** The highlights whose passage is in the text, in order, each with its range. */
export function paintedHighlights() {
  return painted;
}

/** Paint every kept quote, and every passage a score was given for, that is still in the text. */
export function paint() {
  const prose = document.getElementById("prose");
  painted = rangesOf(prose, "#highlights [data-highlight]");
  if (!window.Highlight) return;
  for (const color of COLORS) {
    const its = painted.filter(([quote]) => quote.closest("[data-color]").dataset.color === color);
    CSS.highlights.set(`kept-${color}`, new Highlight(...its.map(([, range]) => range)));
  }
  const evidence = rangesOf(prose, "#framing .reason-quote q").map(([, range]) => range);
  CSS.highlights.set("evidence", new Highlight(...evidence));
}

function rangesOf(prose, quotes) {
  const found = prose ? [...document.querySelectorAll(quotes)].map((quote) => [quote, find(prose, quote)]) : [];
  return found.filter(([, range]) => range);
}

/** The painted highlight at a point of the window. */
export function highlightAt(x, y) {
  return painted.find(([, range]) =>
    [...range.getClientRects()].some((box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom),
  )?.[0];
}

function find(prose, quote) {
  const place = placeOf(prose.textContent, quote);
  if (!place) return null;
  const [from, to] = place;
  const range = new Range();
  const walker = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
  let seen = 0;
  let started = false;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const end = seen + node.length;
    if (!started && from < end) {
      range.setStart(node, from - seen);
      started = true;
    }
    if (started && to <= end) {
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

function offsetOf(range) {
  const before = new Range();
  before.setStart(document.getElementById("prose"), 0);
  before.setEnd(range.startContainer, range.startOffset);
  return before.toString().length;
}
