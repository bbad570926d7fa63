// On touch: a row to the right is read or unread, to the left later; an article to the left goes on, to the right back.
import { isMarked, mark } from "./marks.js";
import { idOf } from "./rows.js";
import { step } from "./open.js";

const FAR = 72;
const STEEP = 0.6;
let start = null;

document.addEventListener(
  "touchstart",
  (event) => {
    const row = event.target.closest(".row");
    const text = event.target.closest(".read");
    start = null;
    if (
      event.touches.length !== 1 ||
      (!row && !text) ||
      event.target.closest("pre, .scroll, audio, video, input, textarea")
    )
      return;
    start = { x: event.touches[0].clientX, y: event.touches[0].clientY, row };
  },
  { passive: true },
);

document.addEventListener(
  "touchmove",
  (event) => {
    if (!start?.row) return;
    const by = event.touches[0].clientX - start.x;
    if (sideways(event.touches[0])) start.row.style.translate = `${Math.max(-120, Math.min(120, by))}px`;
  },
  { passive: true },
);

document.addEventListener("touchend", (event) => {
  if (!start) return;
  const { row, x } = start;
  const touch = event.changedTouches[0];
  const by = touch.clientX - x;
  const meant = Math.abs(by) > FAR && sideways(touch);
  start = null;
  if (row) row.style.translate = "";
  if (!meant || getSelection().toString()) return;
  if (row) markRow(row, by > 0 ? "read" : "later");
  else if (document.getElementById("rows")) step(by > 0 ? -1 : 1);
});

function markRow(row, what) {
  mark(idOf(row), what, !isMarked(idOf(row), what));
}

function sideways(touch) {
  return Math.abs(touch.clientY - start.y) < Math.abs(touch.clientX - start.x) * STEEP;
}
