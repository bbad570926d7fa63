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
  const found = prose ? [...document.querySelectorAll(quotes)].map((quote) => find(prose, quote.textContent)) : [];
  CSS.highlights.set(name, new Highlight(...found.filter(Boolean)));
}

function find(prose, quote) {
  const at = prose.textContent.indexOf(quote);
  if (at < 0) return null;
  const range = new Range();
  const walker = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
  let seen = 0;
  let begun = false;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const end = seen + node.length;
    if (!begun && at < end) {
      range.setStart(node, at - seen);
      begun = true;
    }
    if (begun && at + quote.length <= end) {
      range.setEnd(node, at + quote.length - seen);
      return range;
    }
    seen = end;
  }
  return null;
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
