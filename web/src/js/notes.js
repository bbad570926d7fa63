// Highlights and notes: the bar at a selection, notes beside the text where there is room, else in a sheet.
import { selectedText } from "./dom.js";
import { keepPlace } from "./focus.js";
import { highlightAt, highlightSelection, lastColor, paint, paintedHighlights } from "./highlights.js";
import { explain, send } from "./requests.js";
import { copy, shareOrCopy } from "./share.js";
import { loadTemplates } from "./templates.js";

const BESIDE = 46; // rem: as in highlights.css
const GAP = 12;
const tools = (await loadTemplates().catch(() => null))?.getElementById("note-tools");
if (tools) document.body.append(tools.content.cloneNode(true));
const sheet = document.getElementById("highlight-sheet");
const bar = document.getElementById("highlight-bar");
let read = null;
let writes = false; // the next highlight is one to write a note for
let home = null; // where the item in the sheet came from

const sizes = new ResizeObserver(() => place());

export function prepareNotes(opened) {
  read = opened;
  writes = false;
  sizes.disconnect();
  sizes.observe(read);
  paint();
  place();
}

/** Put the notes beside their passages; two that would touch move down. */
function place() {
  const section = document.getElementById("highlights");
  if (!section || !read?.isConnected) return;
  const beside = isBeside() && section.querySelector("li") !== null;
  if (read.hasAttribute("data-noted") !== beside) keepPlace(() => read.toggleAttribute("data-noted", beside));
  for (const item of section.querySelectorAll("li")) item.style.top = "";
  if (!beside) return;
  const origin = section.getBoundingClientRect().top;
  let free = 0;
  const passages = paintedHighlights().map(([quote, range]) => [
    quote.closest("li"),
    range.getBoundingClientRect().top - origin,
  ]);
  const placed = new Set(passages.map(([item]) => item));
  for (const item of section.querySelectorAll("li")) item.toggleAttribute("data-lost", !placed.has(item));
  for (const [item, top] of passages.sort(([, one], [, other]) => one - other)) {
    if (!item.offsetHeight) continue;
    free = Math.max(free, top);
    item.style.top = `${free}px`;
    free += item.offsetHeight + GAP;
  }
}

function isBeside() {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return read.closest(".pane").clientWidth >= BESIDE * rem;
}

/** Show a highlight with its note and what can be done with it. */
function openNote(quote, { write = false } = {}) {
  const item = quote.closest("li");
  for (const other of document.querySelectorAll("#highlights li[data-open]")) other.removeAttribute("data-open");
  item.toggleAttribute("data-open", true);
  if (isBeside()) place();
  else openSheet(item);
  if (write || isBeside()) item.querySelector("textarea").focus({ preventScroll: !write });
}

function openSheet(item) {
  if (!sheet || sheet.open) return;
  home = document.createComment("");
  item.before(home);
  sheet.querySelector("ul").replaceChildren(item);
  sheet.showModal();
}

sheet?.addEventListener("close", () => {
  const item = sheet.querySelector("li");
  item?.removeAttribute("data-open");
  if (item && home?.isConnected) home.replaceWith(item);
  sheet.querySelector("ul").replaceChildren();
  home = null;
});

// --- The bar at a selection

function offer() {
  if (!bar) return;
  const range = selectedText();
  if (!range || !document.getElementById("new-highlight")) return hideBar();
  bar.hidden = false;
  const box = range.getBoundingClientRect();
  const left = box.left + box.width / 2 - bar.offsetWidth / 2;
  const above = box.top - bar.offsetHeight - 8;
  bar.style.left = `${Math.min(Math.max(8, left), innerWidth - bar.offsetWidth - 8)}px`;
  bar.style.top = `${above < 56 ? Math.min(box.bottom + 8, innerHeight - bar.offsetHeight - 8) : above}px`;
  for (const ink of bar.querySelectorAll(".ink")) ink.ariaPressed = String(ink.value === lastColor());
}

function hideBar() {
  if (bar) bar.hidden = true;
}

bar?.addEventListener("pointerdown", (event) => event.preventDefault()); // the selection stays
bar?.addEventListener("click", (event) => {
  const ink = event.target.closest(".ink");
  const act = event.target.closest("[data-act]")?.dataset.act;
  if (ink) highlightSelection(ink.value);
  if (act === "note") writes = highlightSelection();
  if (act === "copy-quote") copy(quoteText(selectedText().toString()));
  if (act === "share-quote") shareQuote(selectedText().toString());
  if (ink || act) hideBar();
});
document.addEventListener("selectionchange", () => selectedText() ?? hideBar());
document.addEventListener("pointerup", () => setTimeout(offer));
document.addEventListener("keyup", ({ key, shiftKey }) => {
  if (shiftKey && key.startsWith("Arrow")) offer();
});
document.addEventListener("scroll", hideBar, { capture: true, passive: true });
document.addEventListener("reedbed:highlight", ({ detail }) => {
  const made = highlightSelection();
  if (made) writes = detail.note;
  hideBar();
});

// --- Quotes

/** The words with where they are from. */
function quoteText(words) {
  const from = [
    read.querySelector("h1").textContent.trim(),
    read.querySelector(".read-author")?.textContent.trim(),
    read.querySelector(".read-source bdi")?.textContent.trim(),
  ];
  return `“${words.trim()}”\n— ${from.filter(Boolean).join(", ")}\n${read.dataset.original || location.href}`;
}

function shareQuote(words) {
  const text = quoteText(words);
  return shareOrCopy({ title: read.querySelector("h1").textContent, text }, text);
}

document.addEventListener("click", (event) => {
  const act = event.target.closest("li.note [data-act]")?.dataset.act;
  const words = event.target.closest("li.note")?.querySelector("[data-highlight]")?.textContent;
  if (words && act === "copy-quote") copy(quoteText(words));
  if (words && act === "share-quote") shareQuote(words);
  if (!event.target.closest("#prose") || event.target.closest("a, button") || selectedText()) return;
  const quote = highlightAt(event.clientX, event.clientY);
  if (quote) openNote(quote);
});
document.addEventListener("input", ({ target }) => {
  if (target.matches("#highlights textarea")) place();
});

// --- A note is kept when one goes on, too: what was written is never lost with the page

const NOTE = ".note textarea";

document.addEventListener("focusout", ({ target, relatedTarget }) => {
  if (target.matches?.(NOTE) && relatedTarget?.form !== target.form) keepNote(target);
  const item = target.closest?.("li.note[data-open]");
  if (!item || item.contains(relatedTarget) || sheet?.contains(item)) return;
  item.removeAttribute("data-open"); // it stands there as text again
  place();
});
addEventListener("pagehide", () => document.querySelectorAll(NOTE).forEach(keepNote));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !event.target.matches(NOTE)) return;
  event.preventDefault();
  if (sheet?.open) sheet.close();
  else event.target.blur();
});

function keepNote(field) {
  const was = field.defaultValue;
  if (field.value === was) return;
  field.defaultValue = field.value;
  field.closest("li").toggleAttribute("data-noted", field.value.trim() !== "");
  send(field.form.getAttribute("action"), new FormData(field.form)).catch((error) => {
    field.defaultValue = was;
    explain(error, () => keepNote(field));
  });
}
// What was replaced is no longer in the page, so its name is asked for as well.
document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
  if (target.id !== "highlights") return void (target.closest?.("#article") && (paint(), place()));
  if (sheet?.open) sheet.close();
  paint();
  place();
  const newest = [...document.querySelectorAll("#highlights [data-highlight]")].at(-1);
  if (writes && newest) openNote(newest, { write: true });
  writes = false;
});
