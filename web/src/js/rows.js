// Walking among rows without ever asking for all of them.
import { restore, rowsIn, sectionOf } from "./virtual-list.js";

export const listBody = () => document.getElementById("list-body");
export const container = () => document.getElementById("rows");

export function idOf(row) {
  return row.id.slice(1);
}

export function linkOf(row) {
  return row.querySelector("h3 a");
}

let current = null;
let roving = null;

export function currentRow() {
  if (!current?.isConnected) current = container()?.querySelector(".row[data-current]") ?? null;
  return current;
}

export function setCurrent(row) {
  const before = currentRow();
  before?.removeAttribute("data-current");
  if (before) linkOf(before).removeAttribute("aria-current");
  row?.setAttribute("data-current", "");
  if (row) linkOf(row).setAttribute("aria-current", "true");
  current = row;
  rove(row ?? before ?? firstRow());
}

export function focusedRow() {
  return document.activeElement?.closest?.(".row") ?? null;
}

export function firstRow() {
  const [first] = sections();
  return first ? rowsIn(first)[0] : null;
}

export function lastRow() {
  const last = sections().at(-1);
  return last ? [...rowsIn(last)].at(-1) : null;
}

export function allRows() {
  return sections().flatMap((section) => [...rowsIn(section)]);
}

export function neighbour(row, step) {
  const beside = step > 0 ? row.nextElementSibling : row.previousElementSibling;
  if (beside) return beside;
  let section = sectionOf(row);
  do section = step > 0 ? section.nextElementSibling : section.previousElementSibling;
  while (section && !rowsIn(section).length);
  if (!section) return null;
  return [...rowsIn(section)].at(step > 0 ? 0 : -1);
}

export function nextUnread(row, step) {
  let next = neighbour(row, step);
  while (next && !next.hasAttribute("data-unread")) next = neighbour(next, step);
  return next;
}

/** Where walking begins after the reader has scrolled away from this row: the first row in the window, or the last. */
export function rowInWindow(row, step) {
  const body = listBody().getBoundingClientRect();
  if (!body.height || overlaps(placeOf(row), body)) return null; // a phone hides the list behind an article
  const seen = sections().filter((section) => overlaps(section, body));
  const rows = seen.flatMap((section) => [...rowsIn(section)]).filter((one) => overlaps(placeOf(one), body));
  return rows.at(step > 0 ? 0 : -1) ?? null;
}

function overlaps(element, { top, bottom }) {
  const box = element.getBoundingClientRect();
  return box.bottom > top + 8 && box.top < bottom - 8;
}

/** Which way leads from one row to another: 1 down, -1 up. */
export function direction(from, to) {
  const [start, end] = sectionOf(from) === sectionOf(to) ? [from, to] : [sectionOf(from), sectionOf(to)];
  return start.compareDocumentPosition(end) & Node.DOCUMENT_POSITION_FOLLOWING ? 1 : -1;
}

/** What stands in the page for this row: itself, or the empty place of its section. */
export function placeOf(row) {
  return row.isConnected ? row : sectionOf(row);
}

/** The one row Tab reaches; the others are reached by arrows and letters. */
export function rove(row) {
  if (roving) linkOf(roving).tabIndex = -1;
  if (row) restore(row);
  if (row) linkOf(row).tabIndex = 0;
  roving = row;
}

export function focusRow(row) {
  rove(row);
  linkOf(row).focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function sections() {
  return [...(container()?.querySelectorAll(".day-rows") ?? [])];
}
