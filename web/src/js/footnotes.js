// Footnotes open where they are referred to; the notes stay at the end of the text too. Without this script the
// references are plain links to the notes.
import { translate } from "./i18n.js";

const MARK = /^[\s\u00a0]*[[(]?(\d{1,3}|[a-z]|[ivx]{1,5}|[*†‡§¶]{1,3}|note \d{1,3})[\])]?[\s\u00a0]*$/i;
const BACK = /^[\s\u00a0]*(?:[\u21a9\u21b5\u2191^]\ufe0e?|[[(]?(?:\d{1,3}|back|return)[\])]?)[\s\u00a0]*$/i;
const LONGEST = 6000;
let open = null;

export function prepareFootnotes(read, prose) {
  close();
  for (const link of prose.querySelectorAll('a[href^="#fn-"]')) {
    const note = noteOf(prose, link);
    if (!note) continue;
    link.classList.add("fn");
    link.ariaLabel = translate("footnote", { n: link.textContent.trim().replace(/[[\]()]/g, "") });
    link.ariaExpanded = "false";
  }
}

/** The note that a link refers to; null where the link leads to something else, such as a chapter. */
function noteOf(prose, link) {
  if (!MARK.test(link.textContent)) return null;
  const target = targetOf(prose, link);
  if (!target || !(link.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING)) return null;
  const note = blockOf(prose, target);
  return note && !note.contains(link) && note.textContent.trim().length <= LONGEST ? note : null;
}

function targetOf(prose, link) {
  const id = link.getAttribute("href").slice(1);
  return prose.querySelector(`[id="${CSS.escape(id)}"], a[name="${CSS.escape(id)}"]`);
}

function blockOf(prose, target) {
  const block = target.closest("li, p, dd, dt, td, div, aside");
  if (!block || !prose.contains(block) || block === prose) return null;
  if (block.localName === "dt") return block.nextElementSibling;
  return block;
}

function show(link) {
  const prose = link.closest(".prose");
  const note = noteOf(prose, link);
  if (!note) return false;
  const again = open?.link === link;
  close();
  if (again) return true;
  const phone = matchMedia("(width < 45rem)").matches;
  const body = link.closest(".pane-body");
  const host = phone ? body.parentElement : link.closest(".read");
  const pop = card(link, note);
  host.append(pop);
  link.ariaExpanded = "true";
  open = { link, pop, body, top: body.scrollTop };
  if (!phone) place(pop, link, host, body);
  pop.focus({ preventScroll: true });
  return true;
}

function card(link, note) {
  const pop = document.createElement("div");
  pop.className = "fn-pop";
  pop.role = "dialog";
  pop.tabIndex = -1;
  pop.ariaLabel = link.ariaLabel;
  pop.dir = getComputedStyle(note).direction;
  const text = document.createElement("div");
  text.className = "fn-text";
  text.append(...contentOf(note).childNodes);
  const end = document.createElement("button");
  end.type = "button";
  end.className = "fn-end";
  end.textContent = translate("toNote");
  end.addEventListener("click", () => (close(), reveal(note)));
  pop.append(text, end, closeButton());
  return pop;
}

function closeButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "icon-btn";
  button.ariaLabel = button.title = translate("close");
  button.append(document.querySelector("#lightbox .icon")?.cloneNode(true) ?? "×");
  button.addEventListener("click", () => close({ back: true }));
  return button;
}

/** A copy of the note without its links back and without names, which would occur twice. */
function contentOf(note) {
  const copy = note.cloneNode(true);
  for (const link of copy.querySelectorAll('a[href^="#fn-"]'))
    if (BACK.test(link.textContent)) (link.closest("sup") ?? link).remove();
  for (const named of copy.querySelectorAll("[id], a[name]")) {
    named.removeAttribute("id");
    named.removeAttribute("name");
  }
  return copy;
}

function place(pop, link, host, body) {
  const at = link.getBoundingClientRect();
  const around = host.getBoundingClientRect();
  const column = link.closest(".prose").getBoundingClientRect();
  const left = Math.min(at.left - 24, column.right - pop.offsetWidth);
  const below = body.getBoundingClientRect().bottom - at.bottom;
  const above = below < pop.offsetHeight + 12 && at.top - body.getBoundingClientRect().top > pop.offsetHeight;
  pop.style.left = `${Math.max(left, column.left) - around.left}px`;
  pop.style.top = `${(above ? at.top - pop.offsetHeight - 6 : at.bottom + 6) - around.top}px`;
}

function close({ back = false } = {}) {
  if (!open) return false;
  const { link, pop } = open;
  open = null;
  const inside = pop.contains(document.activeElement);
  pop.remove();
  link.ariaExpanded = "false";
  if ((back || inside) && link.isConnected) link.focus({ preventScroll: true });
  return true;
}

/** Scroll to a place of the text and put the focus there, without a change of the address. */
function reveal(target) {
  target.scrollIntoView({ block: "center" });
  if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
  target.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.('.prose a[href^="#"]');
  if (link && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    if (link.classList.contains("fn") && show(link)) return;
    const target = targetOf(link.closest(".prose"), link);
    if (target) reveal(target);
  }
  if (open && !open.pop.contains(event.target)) close();
});
document.addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Escape" || !close({ back: true })) return;
    event.preventDefault();
    event.stopPropagation();
  },
  true,
);
document.addEventListener(
  "scroll",
  ({ target }) => {
    if (open && target === open.body && Math.abs(target.scrollTop - open.top) > target.clientHeight / 2) close();
  },
  { capture: true, passive: true },
);
