// Letters do nothing while one types, in dialogs, or with Ctrl, Alt or the command key.
import { clearSelection, extend, selection } from "./list.js";
import { isMarked, mark, unmark } from "./marks.js";
import { open, step } from "./open.js";
import { currentRow, focusRow, focusedRow, idOf } from "./rows.js";
import { announce } from "./announce.js";
import { closeMenus, dialogIsOpen, openDialog } from "./menus.js";
import { takeUndo } from "./toast.js";
import { undoBulk } from "./bulk.js";
import { highlightSelection } from "./highlights.js";
import { copyAddress } from "./share.js";
import { say } from "./words.js";

const GO = {
  u: "/unread",
  a: "/all",
  s: "/starred",
  l: "/later",
  f: "/feeds",
  h: "/highlights",
  b: "/bookmarks",
  ",": "/settings/look",
};
const PATIENCE = 1500;
let went = 0;

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  n: () => step(1, { unread: true }),
  p: () => step(-1, { unread: true }),
  J: () => extend(1),
  K: () => extend(-1),
  o: () => focusedRow() && open(focusedRow()),
  m: () => toggle("read"),
  s: () => toggle("starred"),
  l: () => toggle("later"),
  M: () => selection().length && document.querySelector("#selection button[name=value]").click(),
  A: () => document.querySelector("[data-bulk] [data-all]")?.click(),
  t: () => document.getElementById("new-tag")?.focus(),
  v: () => click("[data-act=original]"),
  f: () => click("[data-act=full]"),
  x: () => click("[data-wording]:not([aria-current])"),
  w: () => click("#framing > summary"),
  h: highlightSelection,
  c: copyAddress,
  a: () => location.assign("/add"),
  r: () => click('form[action="/refresh"] button'),
  z: undo,
  g: () => (went = Date.now()),
  "/": () => openDialog("find"),
  "?": () => openDialog("keys"),
  " ": page,
  Escape: leave,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialogIsOpen()) return;
  if (isField(event.target)) return void (event.key === "Escape" && event.target.blur());
  if (event.key === " " && event.target.closest("button, summary, audio, video, [role=button]")) return;
  const goes = Date.now() - went < PATIENCE && GO[event.key];
  went = 0;
  const act = goes ? () => location.assign(goes) : KEYS[event.key];
  if (!act) return;
  if (act(event) !== false) event.preventDefault();
});

function toggle(what) {
  const row = focusedRow() ?? currentRow();
  const id = row ? idOf(row) : document.querySelector("#article .read")?.dataset.entry;
  if (id) mark(id, what, !isMarked(id, what));
}

function undo() {
  const token = takeUndo();
  if (token) undoBulk({ undo: token });
  else if (!unmark()) announce(say("nothingToUndo"));
}

/** One screen down in the text; at its end, on to the next unread entry. */
function page(event) {
  const body = document.getElementById("article-body");
  if (!body) return false;
  const up = event.shiftKey;
  const left = body.scrollHeight - body.clientHeight - body.scrollTop;
  if (!up && left < 4) step(1, { unread: true });
  else body.scrollBy({ top: (up ? -0.9 : 0.9) * body.clientHeight });
  return true;
}

function leave() {
  if (closeMenus()) return;
  if (selection().length) return clearSelection();
  const app = document.getElementById("app");
  if (app?.dataset.view === "nav") return history.back();
  if (currentRow()) focusRow(currentRow());
  const covered = matchMedia("(width < 45rem)").matches || "wideList" in (app?.dataset ?? {});
  if (app?.dataset.view === "article" && covered) click("#article [data-act=list]");
}

function click(selector) {
  document.querySelector(selector)?.click();
}

function isField(target) {
  return target.closest?.("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]");
}
