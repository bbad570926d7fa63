// Buttons of the row under the mouse or the focus: there is one set, which moves from row to row.
import { isMarked, mark } from "./marks.js";
import { idOf } from "./rows.js";
import { translate } from "./i18n.js";

const acts = document.getElementById("row-acts")?.content.firstElementChild;

function moveTo(row) {
  if (!acts || acts.parentElement === row) return;
  row.append(acts);
  acts.querySelector("[data-row-act=original]").hidden = !row.dataset.original;
  show(row);
}

function show(row) {
  for (const button of acts.querySelectorAll("[data-row-act]")) {
    const what = button.dataset.rowAct;
    if (what === "original") continue;
    const marked = isMarked(idOf(row), what);
    if (what === "read") label(button, marked ? "markUnread" : "markRead");
    else button.setAttribute("aria-pressed", String(marked));
  }
}

function label(button, key) {
  button.title = button.ariaLabel = translate(key);
  delete button.dataset.label; // the tooltip names its key anew
}

document.addEventListener("pointerover", ({ target, pointerType }) => {
  const row = pointerType === "mouse" && target.closest?.("#rows .row");
  if (row) moveTo(row);
});
document.addEventListener("focusin", ({ target }) => {
  const row = target.closest?.("#rows .row");
  if (row) moveTo(row);
});
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-row-act]");
  if (!button) return;
  const row = button.closest(".row");
  const what = button.dataset.rowAct;
  if (what === "original") return void window.open(row.dataset.original, "_blank", "noopener,noreferrer");
  mark(idOf(row), what, !isMarked(idOf(row), what));
  show(row);
});
