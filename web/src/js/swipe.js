// On touch, a row slides: to the right it is marked read, to the left star and later stand open (mirrored where the
// page runs from right to left). Only a movement whose first 12 px are horizontal counts, so that scrolling is safe.
import { tick } from "./dom.js";
import { isMarked, mark } from "./marks.js";
import { idOf } from "./rows.js";
import { translate } from "./i18n.js";

const BEGINS = 12;
const LETS_GO = 72;
const OPEN = 176;
const LONG = 0.6; // of the width: the last act is taken without a second touch
let start = null;
let shown = null; // {row, acts}

const mirror = () => (getComputedStyle(document.documentElement).direction === "rtl" ? -1 : 1);

document.addEventListener(
  "touchstart",
  (event) => {
    if (shown && !event.target.closest(".swipe-acts")) close();
    const row = event.target.closest("#rows .row");
    const [touch] = event.touches;
    start = row && event.touches.length === 1 ? { x: touch.clientX, y: touch.clientY, row, moves: false } : null;
  },
  { passive: true },
);

document.addEventListener(
  "touchmove",
  ({ touches: [touch] }) => {
    if (!start) return;
    const by = touch.clientX - start.x;
    const across = Math.abs(by);
    const down = Math.abs(touch.clientY - start.y);
    if (!start.moves && Math.max(across, down) < BEGINS) return;
    if (!start.moves && (down >= across || getSelection().toString())) return void (start = null);
    if (!start.moves) uncover(start.row);
    start.moves = true;
    slide(by * mirror());
  },
  { passive: true },
);

document.addEventListener("touchend", ({ changedTouches: [touch] }) => {
  if (!start?.moves) return void (start = null);
  const { row, x } = start;
  const by = (touch.clientX - x) * mirror();
  start = null;
  if (by > LETS_GO) take(row, "read");
  else if (-by > row.offsetWidth * LONG) take(row, "later");
  else if (-by > LETS_GO) settle(-OPEN);
  else close();
});
document.addEventListener("touchcancel", () => {
  start = null;
  close();
});

function uncover(row) {
  close();
  const acts = document.getElementById("swipe-acts").content.firstElementChild.cloneNode(true);
  const read = isMarked(idOf(row), "read");
  acts.querySelector("[data-go=read] > span").textContent = translate(read ? "markUnread" : "markRead");
  acts.style.top = `${row.offsetTop}px`;
  acts.style.height = `${row.offsetHeight}px`;
  row.closest(".day-rows").append(acts);
  row.dataset.swiped = "";
  shown = { row, acts, far: false };
}

function slide(by) {
  const { row, acts } = shown;
  acts.dataset.side = by > 0 ? "read" : "more";
  row.style.translate = `${mirror() * Math.min(by, OPEN + 24)}px`;
  const far = by > LETS_GO || -by > LETS_GO;
  if (far && !shown.far) tick();
  shown.far = far;
}

function settle(by) {
  shown.row.dataset.swiped = "still";
  shown.row.style.translate = `${mirror() * by}px`;
}

function close() {
  if (!shown) return;
  const { row, acts } = shown;
  shown = null;
  acts.remove();
  row.removeAttribute("data-swiped");
  row.removeAttribute("style");
}

function take(row, what) {
  close();
  document.dispatchEvent(new CustomEvent("reedbed:swiped"));
  mark(idOf(row), what, !isMarked(idOf(row), what));
}

document.addEventListener(
  "click",
  (event) => {
    const act = event.target.closest?.(".swipe-acts [data-go]");
    if (act && shown) take(shown.row, act.dataset.go);
  },
  true,
);
