// Picking parts of entries on the page that makes feeds: choose a part, then point at an example. All of it can be
// done by keyboard: arrows walk the blocks, Enter picks, [ and ] widen and narrow. A pick fills in the selector of the
// part and asks the server for the entries again.
import { announce } from "./announce.js";
import { fill } from "./i18n.js";

const TIP_GAP = 6;
let part = "";
let here = null;
let inner = null; // what the block was before it was widened
let foundIn = null;
let found = null;
let scrolled = 0;
let selectorsOpen = false;

const paper = () => document.querySelector("#maker .paper");
const button = (name) => document.getElementById(`pick-${name}`);
const words = () => document.getElementById("maker-words").dataset;

document.addEventListener("click", (event) => {
  const step = event.target.closest("[data-step]");
  if (step) return show(step.dataset.step);
  const pick = event.target.closest("[data-pick]");
  if (pick) return start(part === pick.dataset.pick ? "" : pick.dataset.pick);
  if (!part || !paper()?.contains(event.target)) return;
  event.preventDefault();
  point(event.target.closest("[data-n]"));
  choose();
});
document.addEventListener("mouseover", (event) => {
  if (part && paper()?.contains(event.target)) point(event.target.closest("[data-n]"), { quietly: true });
});
document.addEventListener("keydown", (event) => {
  if (!part || !paper() || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") stop();
  else if (document.activeElement !== paper() || !act(event.key)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.target.id !== "maker") return;
  scrolled = paper()?.parentElement.scrollTop ?? 0;
  selectorsOpen = document.querySelector("#maker .selectors")?.open ?? false;
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id !== "maker") return;
  if (paper()) paper().parentElement.scrollTop = scrolled;
  if (selectorsOpen) document.querySelector("#maker .selectors")?.setAttribute("open", "");
  const { summary } = document.querySelector("#maker .maker")?.dataset ?? {};
  announce(summary ?? document.querySelector("#maker [role=alert]")?.textContent.trim());
  const last = part;
  forget();
  show(matchMedia("(width < 45rem)").matches && (last || selectorsOpen) ? "preview" : "page");
  button(last)?.focus({ preventScroll: true });
});

// A picture that the site does not give leaves no hole.
document.addEventListener("error", ({ target }) => target.closest?.("#maker") && (target.hidden = true), true);
for (const image of document.querySelectorAll("#maker img"))
  if (image.complete && !image.naturalWidth && image.currentSrc) image.hidden = true;

// What stands above the list, such as menus, is scrolled away.
const firstItem = paper()?.querySelector("[data-item]");
if (firstItem) {
  const sheet = paper().parentElement;
  const above = firstItem.getBoundingClientRect().top - sheet.getBoundingClientRect().top;
  if (above > sheet.clientHeight / 3) sheet.scrollTop = above - sheet.clientHeight / 6;
}

function show(step) {
  const maker = document.querySelector("#maker .maker");
  if (!maker) return;
  maker.dataset.shows = step;
  for (const one of document.querySelectorAll("[data-step]"))
    one.setAttribute("aria-pressed", String(one.dataset.step === step));
}

function start(name) {
  forget();
  part = name;
  if (!part) return;
  button(part).setAttribute("aria-pressed", "true");
  button(part).closest("li").dataset.on = "";
  paper().dataset.picking = part;
  show("page");
  paper().focus({ preventScroll: true });
  announce(fill(words().picking, { part: label() }));
  point(usual(part) ?? paper().querySelector("[data-item]"), { quietly: true });
}

/** The first block that shows this part where most entries have it. */
function usual(name) {
  const blocks = [...paper().querySelectorAll(`[data-field="${name}"]`)];
  const matches = (block) => places().parts[block.dataset.part]?.matches ?? 0;
  return blocks.find((block) => matches(block) === Math.max(...blocks.map(matches)));
}

function stop() {
  const last = part;
  forget();
  button(last)?.focus();
}

function forget() {
  if (part) {
    button(part)?.setAttribute("aria-pressed", "false");
    delete button(part)?.closest("li").dataset.on;
  }
  if (paper()) delete paper().dataset.picking;
  mark(null);
  part = "";
  here = inner = null;
}

const label = () => button(part).dataset.label;

/** Parts and lists of this page, by the numbers in its blocks. */
function places() {
  const maker = document.querySelector("#maker .maker");
  if (foundIn !== maker) [foundIn, found] = [maker, JSON.parse(maker.dataset.found)];
  return found;
}

/** What a click on this block would choose: a selector for the part, or for another list. */
function targetOf(block) {
  const { part: number, other } = block.dataset;
  if (number !== undefined) return { ...places().parts[number], of: places().items, kind: "part" };
  return other === undefined ? null : { ...places().lists[other], kind: "list" };
}

function point(block, { quietly = false } = {}) {
  if (!block) return;
  if (part === "link") block = block.closest("[data-kind=link]") ?? block;
  here = block;
  mark(block);
  const text = tip(targetOf(block));
  const place = document.querySelector("#maker .pick-tip");
  place.textContent = text;
  place.hidden = false;
  const frame = place.parentElement.getBoundingClientRect();
  const box = block.getBoundingClientRect();
  const left = Math.min(box.left - frame.left, frame.width - place.offsetWidth - TIP_GAP);
  place.style.insetInlineStart = "auto";
  place.style.left = `${Math.max(TIP_GAP, left)}px`;
  place.style.top = `${box.bottom - frame.top + place.parentElement.scrollTop + TIP_GAP}px`;
  if (!quietly) announce(`${text}: ${example(block)}`);
}

const example = (block) =>
  (block.textContent.trim() || block.querySelector("img")?.alt || block.alt || "").slice(0, 80);

function tip(target) {
  if (!target) return words().nothing;
  const values = { part: label(), n: target.matches, all: target.of };
  return fill(target.kind === "part" ? words().matches : words().other, values);
}

function mark(block) {
  for (const one of document.querySelectorAll("#maker .paper :is([data-here], [data-alike])")) {
    delete one.dataset.here;
    delete one.dataset.alike;
  }
  if (!block) return void document.querySelector("#maker .pick-tip")?.setAttribute("hidden", "");
  block.dataset.here = "";
  const { part: number } = block.dataset;
  if (number === undefined) return;
  for (const one of paper().querySelectorAll(`[data-part="${number}"]`)) if (one !== block) one.dataset.alike = "";
}

function act(key) {
  const moves = {
    ArrowDown: () => walk(1),
    ArrowRight: () => walk(1),
    ArrowUp: () => walk(-1),
    ArrowLeft: () => walk(-1),
    "[": widen,
    "]": narrow,
    Enter: choose,
    " ": choose,
  };
  moves[key]?.();
  return key in moves;
}

/** The next block in the order of the page: one that shows a text or a picture itself. */
function walk(by) {
  const blocks = [...paper().querySelectorAll("[data-n]")].filter(
    (one) => one.matches("img") || [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()),
  );
  const follows = (one) => here.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING;
  const at = here ? blocks.indexOf(here) : -1;
  let next = blocks[at + by];
  if (here && at < 0) next = by > 0 ? blocks.find(follows) : blocks.findLast((one) => !follows(one) && one !== here);
  inner = null;
  go(next);
}

function widen() {
  const outer = here?.parentElement.closest("[data-n]");
  if (outer && paper().contains(outer)) {
    inner ??= here;
    go(outer);
  }
}

function narrow() {
  let next = here?.querySelector("[data-n]");
  if (inner && here !== inner && here?.contains(inner)) {
    next = inner;
    while (next.parentElement !== here) next = next.parentElement;
  }
  go(next);
}

function go(block) {
  if (!block) return;
  block.scrollIntoView({ block: "nearest" });
  point(block);
}

function choose() {
  const target = here && targetOf(here);
  if (!target) return void announce(words().nothing);
  const form = document.getElementById("selectors");
  if (target.kind === "list") {
    for (const field of form.querySelectorAll("input:not([type=hidden])")) field.value = "";
    form.elements.namedItem("item").value = target.selector; // `elements.item` is a function
  } else form.elements[part].value = target.selector;
  form.requestSubmit();
}
