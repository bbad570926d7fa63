// Letters do nothing while one types, in dialogs, or with Ctrl, Alt or the command key.
import { clearSelection, extend, selection } from "./list.js";
import { isMarked, mark, unmark } from "./marks.js";
import { open, step } from "./open.js";
import { currentRow, focusRow, focusedRow, idOf } from "./rows.js";
import { announce } from "./announce.js";
import { loadReading } from "./article-content.js";
import { closeMenus, dialogIsOpen, openKeys } from "./menus.js";
import { takeUndo } from "./toast.js";
import { undoBulk } from "./bulk.js";
import { isFocused, setFocused } from "./focus.js";
import { selectedText } from "./dom.js";
import { chooseLayout, switchSide } from "./list-settings.js";
import { copyAddress, openTags } from "./share.js";
import { translate } from "./i18n.js";

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
  n: () => (selectedText() ? highlight("n") : step(1, { unread: true })),
  p: () => step(-1, { unread: true }),
  J: () => extend(1),
  K: () => extend(-1),
  o: () => focusedRow() && open(focusedRow()),
  m: () => toggle("read"),
  s: () => toggle("starred"),
  S: () => click("[data-act=services]"),
  l: () => toggle("later"),
  M: () => selection().length && document.querySelector("#selection button[name=value]").click(),
  A: () => document.querySelector("[data-bulk] [data-all]")?.click(),
  t: openTags,
  v: () => click("[data-act=original]"),
  V: () => click("[data-act=comments]"),
  T: translateArticle,
  f: () => click("[data-act=full]"),
  F: () => setFocused(!isFocused()),
  x: () => click("[data-wording]:not([aria-current])"),
  w: () => click("#framing > summary"),
  h: () => highlight("h"),
  c: copyAddress,
  u: switchSide,
  1: () => chooseLayout(1),
  2: () => chooseLayout(2),
  3: () => chooseLayout(3),
  4: () => chooseLayout(4),
  a: () => location.assign("/add"),
  r: () => click('form[action="/refresh"] button'),
  z: undo,
  g: () => (went = Date.now()),
  "?": () => openKeys(),
  " ": page,
  Escape: leave,
};

/** Keys of parts that come later: `{key: act}`. */
export function bindKeys(keys) {
  Object.assign(KEYS, keys);
}

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

/** The part of the page that highlights comes with the first article; see notes.js. */
async function highlight(key) {
  await loadReading();
  document.dispatchEvent(new CustomEvent("reedbed:highlight", { detail: { note: key === "n" } }));
}

function undo() {
  const { act, token } = takeUndo();
  if (act) act();
  else if (token) undoBulk({ undo: token });
  else if (!unmark()) announce(translate("nothingToUndo"));
}

/** Between the original and the translation; the first time it asks for one. */
function translateArticle() {
  const choices = [...document.querySelectorAll("#translation [data-translation]")];
  const shown = choices.find((choice) => choice.getAttribute("aria-pressed") === "true")?.dataset.translation;
  const next = shown && shown !== "original" ? "original" : "translation";
  choices.find((choice) => choice.dataset.translation === next)?.click();
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
  if (isFocused()) return setFocused(false);
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

// A tooltip names its key only under a mouse: a touch screen has no keys.
const SHOWN = { Escape: "Esc", "Shift+A": "A" };

document.addEventListener("pointerover", ({ target, pointerType }) => {
  const named = target.closest?.("[title][aria-keyshortcuts]:not([data-label])");
  if (pointerType !== "mouse" || !named) return;
  const key = named.getAttribute("aria-keyshortcuts");
  named.dataset.label = named.title;
  named.title = `${named.title} (${SHOWN[key] ?? key})`;
});
