// The list: arrows among rows, selecting several, marking what was scrolled past.
import { announce } from "./announce.js";
import { findRow } from "./virtual-list.js";
import { noteSent, queue, show } from "./marks.js";
import { send, part, explain, isOffline } from "./requests.js";
import {
  container,
  currentRow,
  direction,
  firstRow,
  focusRow,
  focusedRow,
  idOf,
  lastRow,
  listBody,
  neighbour,
  placeOf,
  rove,
  setCurrent,
} from "./rows.js";
import { open } from "./open.js";
import { translateCount } from "./i18n.js";
import { process } from "./htmx.js";

const selected = new Set();
let anchor = null;

export function selection() {
  return [...selected];
}

export function clearSelection() {
  if (!selected.size) return;
  unpaint();
  anchor = null;
  showSelection();
}

/** Move the focus by one row and take both ends into the selection. */
export function extend(step) {
  const from = focusedRow() ?? currentRow() ?? firstRow();
  const to = from && neighbour(from, step);
  if (!to) return;
  anchor ??= from;
  focusRow(to);
  selectRange(anchor, to);
}

let latestReload = null;

/** Ask for the list as it is now; what is open stays open. */
export function reloadList({ top = false } = {}) {
  const reload = loadList(top, () => reload === latestReload);
  latestReload = reload;
  return reload;
}

async function loadList(top, isLatest) {
  const list = document.getElementById("list");
  const url = document.getElementById("app").dataset.viewUrl;
  if (!list || !url) return;
  let html;
  try {
    html = await part(url + location.search.replace("pane=nav", ""), "list");
  } catch (error) {
    if (isLatest()) explain(error, () => reloadList({ top }));
    return;
  }
  if (!isLatest()) return latestReload; // its answer is newer
  // Asked for now, because one may have scrolled or opened another entry while the answer was on its way.
  const openId = openRowId();
  const scrolled = top ? 0 : listBody().scrollTop;
  const count = list.querySelector("[data-count]")?.textContent;
  list.innerHTML = html;
  const counted = list.querySelector("[data-count]");
  if (counted && count) counted.textContent = count; // The part of a page does not count again.
  process(list);
  clearSelection();
  passed = null;
  listBody().scrollTop = scrolled;
  prepare(list);
  if (openId) setCurrent(findRow(openId));
  document.dispatchEvent(new CustomEvent("reedbed:list"));
}

function openRowId() {
  const row = currentRow();
  return row ? idOf(row) : document.querySelector("#article .read")?.dataset.entry;
}

/** Rows that arrived: only one of all stays in the Tab order. */
export function prepare(root) {
  for (const link of root.querySelectorAll(".row h3 a")) link.tabIndex = -1;
  rove(currentRow() ?? firstRow());
}

function unpaint() {
  for (const id of selected) findRow(id)?.removeAttribute("data-selected");
  selected.clear();
}

function selectRange(from, to) {
  unpaint();
  const way = direction(from, to);
  for (let row = from; row; row = neighbour(row, way)) {
    row.setAttribute("data-selected", "");
    selected.add(idOf(row));
    if (row === to) break;
  }
  showSelection();
}

function showSelection() {
  const bar = document.getElementById("selection");
  if (!bar) return;
  bar.hidden = selected.size === 0;
  document.getElementById("list-bar").hidden = selected.size > 0;
  const text = translateCount("selected", selected.size);
  bar.querySelector("[data-selected]").textContent = text;
  if (selected.size) announce(text);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest(".row h3 a");
  if (link && event.button === 0 && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    const row = link.closest(".row");
    if (!event.shiftKey) return void open(row);
    anchor ??= currentRow() ?? row;
    selectRange(anchor, row);
  }
  if (event.target.closest("[data-act=unselect]")) clearSelection();
});

const MOVES = {
  ArrowDown: (row) => neighbour(row, 1),
  ArrowUp: (row) => neighbour(row, -1),
  Home: firstRow,
  End: lastRow,
};
document.addEventListener("keydown", (event) => {
  const row = event.target.closest?.(".row");
  const move = MOVES[event.key];
  if (!row || !move || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const to = move(row);
  if (!to) return;
  if (event.shiftKey) anchor ??= row;
  focusRow(to);
  if (event.shiftKey) selectRange(anchor, to);
});

// Read as scrolled: a pointer walks down the list behind the upper edge; marks go out in one letter.
let passed = null;
let pending = [];
let timer = 0;
document.addEventListener(
  "scroll",
  (event) =>
    event.target.id === "list-body" &&
    container()?.hasAttribute("data-marks-on-scroll") &&
    notePassed(event.target),
  true,
);

function notePassed(body) {
  const edge = body.getBoundingClientRect().top;
  let row = passed ? neighbour(passed, 1) : firstRow();
  while (row && placeOf(row).getBoundingClientRect().bottom < edge) {
    if (row.hasAttribute("data-unread")) pending.push(row);
    passed = row;
    row = neighbour(row, 1);
  }
  clearTimeout(timer);
  timer = setTimeout(sendPassed, 800);
}

async function sendPassed() {
  if (!pending.length) return;
  const ids = pending.splice(0).map(idOf);
  const fields = new FormData();
  for (const [name, value] of [
    ["scope", "ids"],
    ["value", "true"],
    ["quiet", "true"],
    ...ids.map((id) => ["ids", id]),
  ])
    fields.append(name, value);
  for (const id of ids) show(id, "read", true);
  try {
    noteSent(ids, "read", true, await send("/mark-read", fields));
  } catch (error) {
    if (isOffline(error)) return void queue(ids, "read", true);
    for (const id of ids) show(id, "read", false);
    explain(error);
  }
}

if (container()) {
  prepare(container());
  currentRow()?.scrollIntoView({ block: "nearest" });
}
