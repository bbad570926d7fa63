// Loads menus, dragging, cards of failing feeds and the palette with the first act on the page. What is done before
// they are there is held and repeated.
import { loadSheet } from "./dom.js";
import { firstAct } from "./first-act.js";
import { explain } from "./requests.js";

const PRESSED = "a[data-act=search], #tree a.mark, #feeds-menu-button, #hide-read";
const LINE = "#tree .line";
const FIELDS = "input, select, textarea, [contenteditable]";
const KEYS = ["/", "H", "U"];
const LINE_KEYS = [".", "F2", "ContextMenu"];

const onLine = ({ target }) => target.closest?.(LINE);
const waits = {
  click: ({ target, ctrlKey, metaKey }) => !ctrlKey && !metaKey && target.closest?.(PRESSED),
  contextmenu: (event) => !event.shiftKey && onLine(event),
  keydown: needsParts,
  pointerdown: onLine,
  pointermove: ({ buttons }) => buttons === 1, // a line may be dragged already
  pointerup: () => true,
  touchstart: onLine,
  touchend: onLine,
};

function needsParts({ key, target, ctrlKey, metaKey, altKey, shiftKey }) {
  if (ctrlKey || metaKey) return key?.toLowerCase() === "k" && !altKey && !shiftKey;
  if (target.closest?.(FIELDS)) return false;
  if (target.closest?.("details.menu") && key.startsWith("Arrow")) return true;
  if (!target.closest?.(LINE)) return KEYS.includes(key) && !altKey;
  return altKey ? key.startsWith("Arrow") : [...KEYS, ...LINE_KEYS].includes(key) || (key === "F10" && shiftKey);
}

async function load() {
  try {
    await import("./acts.js");
    repeatHeld();
  } catch (error) {
    // Browsers do not fetch a script again that has failed once; the next page does.
    const tell = () => explain(error, () => location.reload());
    if (repeatHeld()) tell();
    for (const type of ["keydown", "contextmenu"]) addEventListener(type, (event) => waits[type](event) && tell());
  }
}

let repeatHeld = () => 0;

// The browser would drag the address of a line; tree-drag.js drags the line.
document.getElementById("tree")?.addEventListener("dragstart", (event) => event.preventDefault());

// Without it nothing is held: early-input.js could not be loaded.
if (document.getElementById("app")) {
  repeatHeld = window.holdInput?.(waits) ?? repeatHeld;
  firstAct.then(load);
}
// What is learnt from reading is never loaded for those who have not switched it on.
if (document.getElementById("app") && "learns" in document.body.dataset)
  addEventListener("load", () => setTimeout(() => import("./interest.js").catch(() => {})), { once: true });
if (document.querySelector("form[data-suggest]")) import("./search.js").catch(explain);
if (navigator.maxTouchPoints) import("./touch.js").catch(explain);
// The first article finds its styles there.
firstAct.then(() => loadSheet(document.body.dataset.article));
