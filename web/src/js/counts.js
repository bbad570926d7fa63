// Unread numbers: in the sidebar, over the list, in the title.
import { json } from "./requests.js";
import { number } from "./i18n.js";

export function adjust(key, by) {
  const found = places(key);
  if (found.length) put(found, key, Math.max(0, current(found[0]) + by));
}

/** One entry of this feed became read (-1) or unread (+1): the feed, its folders and the whole. */
export function adjustUnread(feedId, by) {
  const key = `feed:${feedId}`;
  const line = document.querySelector(`#tree [data-count="${CSS.escape(key)}"]`);
  if (!line?.closest("[data-apart], [data-muted]")) adjust("unread", by);
  adjust(key, by);
  for (const folder of foldersOf(key)) adjust(`folder:${folder}`, by);
}

export async function refreshCounts() {
  showAll(await json("/api/v1/counts"));
  countSearches().catch(() => {});
}

/** What `/api/v1/counts` answers: `{all, later, feeds: {id: n}, folders: {id: n}, tags: {name: n}}`. */
function showAll(counts) {
  show("unread", counts.all);
  show("later", counts.later);
  showGroup("feed", counts.feeds);
  showGroup("folder", counts.folders);
  showGroup("tag", counts.tags);
}

/** The folders around a feed, each once: it may stand in several. */
export function foldersOf(key) {
  const folders = new Set();
  for (const line of document.querySelectorAll(`#tree [data-count="${CSS.escape(key)}"]`)) {
    let details = line.closest("[data-folder]");
    while (details) {
      folders.add(details.dataset.folder);
      details = details.parentElement.closest("[data-folder]");
    }
  }
  return [...folders];
}

function showGroup(kind, group) {
  for (const element of document.querySelectorAll(`#tree [data-count^="${kind}:"]`)) {
    const key = element.dataset.count;
    put([element], key, group[key.slice(kind.length + 1)] ?? 0);
  }
}

function show(key, n) {
  put(places(key), key, n);
}

function put(elements, key, n) {
  for (const element of elements) {
    const text = !n ? "" : element.closest("#tree") ? short(n) : number(n);
    if (element.textContent !== text) element.textContent = text;
    if (n > 999) Object.assign(element.dataset, { exact: n }), (element.title = number(n));
    else if (element.dataset.exact) delete element.dataset.exact, element.removeAttribute("title");
  }
  if (key === "unread") showInTitle(n);
}

function showInTitle(n) {
  const plain = document.title.replace(/^\([\d\u202f]+\) /, "");
  document.title = n ? `(${number(n)}) ${plain}` : plain;
  if (n) navigator.setAppBadge?.(n).catch(() => {});
  else navigator.clearAppBadge?.().catch(() => {});
}

/** At most four characters, as the server prints it (`Count.short`). */
function short(n) {
  const thousands = Math.floor(n / 100) / 10;
  return n < 1000 ? String(n) : thousands < 10 ? `${thousands.toFixed(1)}k` : `${Math.floor(thousands)}k`;
}

function current(element) {
  return Number(element.dataset.exact) || Number(element.textContent.replace(/\D/g, "")) || 0;
}

function places(key) {
  // Never through the rows: there may be ten thousand of them.
  return document.querySelectorAll(`:is(#nav, #list-bar, #list-options) [data-count="${CSS.escape(key)}"]`);
}

// Counting a saved search means searching: after the page is there, at most once a minute, remembered between.
const MINUTE = 60_000;
const KEPT = "reedbed:searches";

async function countSearches() {
  if (!document.querySelector('#tree [data-count^="saved:"]')) return;
  let kept = JSON.parse(sessionStorage.getItem(KEPT) ?? '{"at":0,"items":[]}');
  showSearches(kept.items);
  if (Date.now() - kept.at < MINUTE) return;
  kept = { at: Date.now(), items: (await json("/api/v1/searches/counts")).items };
  sessionStorage.setItem(KEPT, JSON.stringify(kept));
  showSearches(kept.items);
}

function showSearches(items) {
  for (const { id, unread, more } of items)
    for (const element of places(`saved:${id}`))
      element.textContent = unread ? number(unread) + (more ? "+" : "") : "";
}

setTimeout(() => countSearches().catch(() => {}), 300);
