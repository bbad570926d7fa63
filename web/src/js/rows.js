// Walking among rows without ever asking for all of them.
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
  rove(row ?? firstRow());
}

export function focusedRow() {
  return document.activeElement?.closest?.(".row") ?? null;
}

export function firstRow() {
  return container()?.querySelector(".row") ?? null;
}

export function lastRow() {
  const sections = container()?.querySelectorAll(".day-rows") ?? [];
  return sections[sections.length - 1]?.querySelector(".row:last-child") ?? null;
}

export function neighbour(row, step) {
  const beside = step > 0 ? row.nextElementSibling : row.previousElementSibling;
  if (beside) return beside;
  let section = row.closest(".day-rows");
  do section = step > 0 ? section.nextElementSibling : section.previousElementSibling;
  while (section && !section.querySelector(".row"));
  const rows = section?.querySelectorAll(".row");
  return rows ? rows[step > 0 ? 0 : rows.length - 1] : null;
}

export function nextUnread(row, step) {
  let next = neighbour(row, step);
  while (next && !next.hasAttribute("data-unread")) next = neighbour(next, step);
  return next;
}

/** The one row Tab reaches; the others are reached by arrows and letters. */
export function rove(row) {
  if (roving?.isConnected) linkOf(roving).tabIndex = -1;
  if (row) linkOf(row).tabIndex = 0;
  roving = row;
}

export function focusRow(row) {
  rove(row);
  linkOf(row).focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}
