// What the page notices for the order by interest, once it is switched on: rows that were on the screen and passed by,
// and entries that stayed open for ten seconds. It goes out in batches; nothing is sent of a list that is only loaded.
// Loaded by parts.js.
import "./shared.js";
import { change } from "./requests.js";
import { idOf, listBody } from "./rows.js";
import { findRow } from "./virtual-list.js";

const GLANCE = 800; // A row that was on the screen for less was not looked at.
const STAY = 10_000;
const PAUSE = 15_000;
const MOST = 50;

const shown = new Map(); // id of a row: how long it was on the screen, and since when it is
const reported = new Set();
let passed = new Map();
let read = [];
let open = null; // the entry in the article pane
let timer = 0;
let observer = null;

function look(changes) {
  const now = performance.now();
  for (const { target, isIntersecting, boundingClientRect: place, rootBounds } of changes) {
    const id = idOf(target);
    const seen = shown.get(id) ?? { ms: 0, since: null };
    if (isIntersecting) seen.since ??= now;
    else if (seen.since !== null) {
      seen.ms += now - seen.since;
      seen.since = null;
      if (place.height && rootBounds && place.top < rootBounds.top) pass(target, seen);
    }
    shown.set(id, seen);
  }
}

function pass(row, { ms, since }) {
  const id = idOf(row);
  const time = Math.round(ms + (since === null ? 0 : performance.now() - since));
  if (time < GLANCE || reported.has(id) || !row.hasAttribute("data-unread")) return;
  reported.add(id);
  passed.set(id, time);
  later();
}

/** Rows above one that is opened were seen and passed by. */
function passAbove(opened) {
  const edge = opened.getBoundingClientRect().top;
  for (const [id, seen] of shown) {
    const row = seen.since === null ? null : findRow(id);
    if (row && row !== opened && row.getBoundingClientRect().top < edge) pass(row, seen);
  }
}

function note(article) {
  clearTimeout(open?.timer);
  const id = article.dataset.entry;
  passed.delete(id);
  const row = findRow(id);
  if (row) passAbove(row);
  open = { id, left: STAY, since: performance.now(), timer: 0 };
  wait();
}

function wait() {
  if (!open || open.left <= 0 || document.hidden) return;
  open.since = performance.now();
  open.timer = setTimeout(stayed, open.left);
}

function stayed() {
  open.left = 0;
  read.push(open.id);
  later();
}

function later() {
  if (passed.size + read.length >= MOST) send();
  else timer ||= setTimeout(send, PAUSE);
}

function send() {
  clearTimeout(timer);
  timer = 0;
  if (!passed.size && !read.length) return;
  const body = {
    passed: [...passed].slice(0, MOST).map(([id, ms]) => ({ entry_id: id, ms: Math.min(ms, 600_000) })),
    read: read.slice(0, MOST),
  };
  passed = new Map();
  read = [];
  change("POST", "/api/v1/interest/seen", body).catch(() => {}); // what is lost was a guess anyway
}

function hide() {
  if (!document.hidden) return wait();
  if (open && open.left > 0) {
    clearTimeout(open.timer);
    open.left -= performance.now() - open.since;
  }
  for (const seen of shown.values()) {
    if (seen.since === null) continue;
    seen.ms += performance.now() - seen.since;
    seen.since = performance.now();
  }
  send();
}

/** Rows come with each page and when a section of the list is put back. */
function watch() {
  const body = listBody();
  if (!body) return;
  observer?.disconnect();
  shown.clear();
  observer = new IntersectionObserver(look, { root: body, threshold: 0.6 });
  for (const row of body.querySelectorAll(".row[data-unread]")) observer.observe(row);
  new MutationObserver((changes) => {
    for (const node of changes.flatMap((one) => [...one.addedNodes])) {
      if (node.nodeType !== Node.ELEMENT_NODE) continue;
      const rows = node.matches(".row") ? [node] : node.querySelectorAll(".row");
      for (const row of rows) if (row.hasAttribute("data-unread")) observer.observe(row);
    }
  }).observe(body, { childList: true, subtree: true });
}

watch();
document.addEventListener("reedbed:list", watch);
document.addEventListener("reedbed:article", (event) => note(event.detail));
document.addEventListener("visibilitychange", hide);
addEventListener("pagehide", send);
const article = document.querySelector("#article .read");
if (article) note(article); // it was opened before this was here
