// Read, starred and later: shown at once, sent after, put back when refused, queued when there is no network.
import { announce } from "./announce.js";
import { adjust, adjustUnread } from "./counts.js";
import { explain, isOffline, send } from "./requests.js";
import { afterPaint } from "./dom.js";
import { keepForLater } from "./offline-queue.js";
import { storedMap } from "./stored-map.js";
import { findRow, sectionOf } from "./virtual-list.js";
import { forgetUndo } from "./toast.js";
import { translate } from "./i18n.js";

const MESSAGES = { read: ["unread", "read"], starred: ["unstarred", "starred"], later: ["unlater", "later"] };
const NOT_SENT = Number.MAX_SAFE_INTEGER;
const known = storedMap("marks", 600); // "id:what" → [value, when]; see `showKnown`
const turns = new Map(); // "id:what" → the request under way
const left = new Promise((leave) => addEventListener("pagehide", leave));
let last = null;

export async function mark(id, what, value, { quiet = false, undoable = true } = {}) {
  const before = isMarked(id, what);
  if (undoable && !quiet) {
    last = { id, what, value: before };
    forgetUndo();
  }
  show(id, what, value);
  if (!quiet) announce(translate(MESSAGES[what][Number(value)]));
  try {
    const sent = await inTurn(`${id}:${what}`, () => send(`/entry/${id}/${what}`, { value }));
    noteSent([id], what, value, sent);
  } catch (error) {
    if (isOffline(error)) return queue([id], what, value);
    show(id, what, before);
    explain(error, () => mark(id, what, value));
  }
}

/** Send one mark of an entry after the other: two under way at once may reach the server in another order. */
async function inTurn(key, request) {
  const turn = Promise.race([turns.get(key), left]).then(request, request);
  turns.set(key, turn);
  try {
    return await turn;
  } finally {
    if (turns.get(key) === turn) turns.delete(key);
  }
}

/** Keep marks that could not be sent until the network is back. */
export async function queue(ids, what, value) {
  for (const id of ids) note(id, what, value, NOT_SENT);
  await Promise.all(ids.map((id) => keepForLater({ id, what, value })));
}

/** The server has taken these marks. */
export function noteSent(ids, what, value, response) {
  for (const id of ids) note(id, what, value, Date.parse(response.headers.get("Date")));
}

/** The server refused a mark that had waited. */
export function forgetMark(id, what) {
  known.set(`${id}:${what}`, undefined);
}

/**
 * Correct rows and the article where the page is older than what this device knows: the service worker shows pages
 * as they were when they were kept. Only times of the server are compared; the clock of the device may be wrong.
 */
export function showKnown() {
  for (const [key, [value, at]] of known.all()) {
    const [id, what] = key.split(":");
    if (at >= renderedAt(id)) paint(id, what, value);
  }
}

/** Remember a mark as of a moment of the server, or else as of the moment in which the page was made. */
function note(id, what, value, at) {
  known.set(`${id}:${what}`, [value, Math.max(at || 0, renderedAt(id) || 0)]);
}

/** When the part of the page that shows this entry was made; NaN where none does. */
function renderedAt(id) {
  const row = findRow(id);
  return Number((row ? sectionOf(row) : articleOf(id))?.dataset.rendered);
}

function articleOf(id) {
  return document.querySelector(`#article .read[data-entry="${id}"]`);
}

/** Take the last single mark back; false when there is none. */
export function unmark() {
  if (!last) return false;
  const { id, what, value } = last;
  last = null;
  mark(id, what, value, { undoable: false });
  return true;
}

export function isMarked(id, what) {
  const row = findRow(id);
  if (row) return what === "read" ? !row.hasAttribute("data-unread") : row.hasAttribute(`data-${what}`);
  const button = buttons(id, what)[0];
  const pressed = button?.getAttribute("aria-pressed") === "true";
  return what === "read" ? !pressed : pressed;
}

/** Show a mark without sending it. Also used for what other devices did. */
export function show(id, what, value) {
  if (isMarked(id, what) === value) return;
  paint(id, what, value);
  note(id, what, value);
}

/** Rows, buttons and counts. */
function paint(id, what, value) {
  if (isMarked(id, what) === value) return;
  const row = findRow(id);
  if (what === "read") {
    row?.toggleAttribute("data-unread", !value);
    articleOf(id)?.toggleAttribute("data-unread", !value);
    const feed = row?.dataset.feed ?? articleOf(id)?.dataset.feed;
    if (feed) afterPaint(() => adjustUnread(feed, value ? -1 : 1)); // Numbers all over the page can wait a frame.
  } else {
    row?.toggleAttribute(`data-${what}`, value);
    if (row) showSigns(row);
    if (what === "later") adjust("later", value ? 1 : -1);
  }
  for (const button of buttons(id, what)) press(button, what, value);
}

/** A text that was kept may be older than what its row says. */
export function pressAs(row, text) {
  text.querySelector(".read").toggleAttribute("data-unread", row.hasAttribute("data-unread"));
  for (const what of Object.keys(MESSAGES))
    for (const button of text.querySelectorAll(`form[data-mark="${what}"] button`))
      press(button, what, isMarked(row.id.slice(1), what));
}

function press(button, what, value) {
  button.setAttribute("aria-pressed", String(what === "read" ? !value : value));
  button.value = String(!value);
}

function showSigns(row) {
  const signs = document.getElementById("row-marks").content;
  const shown = [...signs.children].filter((sign) => row.hasAttribute(`data-${sign.dataset.of}`));
  row.querySelector(".marks").replaceChildren(...shown.map((sign) => sign.cloneNode(true)));
}

function buttons(id, what) {
  return document.querySelectorAll(`#article form[data-mark="${what}"][action^="/entry/${id}/"] button`);
}

document.addEventListener("reedbed:list", showKnown);
document.addEventListener("submit", (event) => {
  if (event.target.matches('form[action="/logout"]')) known.clear();
  const form = event.target.closest("form[data-mark]");
  if (!form) return;
  event.preventDefault();
  const id = form.getAttribute("action").split("/")[2];
  mark(id, form.dataset.mark, !isMarked(id, form.dataset.mark));
});
showKnown();
