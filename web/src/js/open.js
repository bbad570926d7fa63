// Opening entries beside the list. The address always tells what is shown, so Back, reload and new tabs work.
import { announce } from "./announce.js";
import { loadMore } from "./endless.js";
import { rowOf } from "./far.js";
import { mark } from "./marks.js";
import { explain, isOffline, part } from "./requests.js";
import {
  currentRow,
  firstRow,
  focusRow,
  focusedRow,
  idOf,
  linkOf,
  neighbour,
  nextUnread,
  setCurrent,
} from "./rows.js";
import { say } from "./words.js";
import { showToast } from "./toast.js";
import htmx from "./htmx.js";

const app = document.getElementById("app");
const article = document.getElementById("article");
const kept = new Map();
const KEPT_AT_MOST = 12;
let asked = "";

export async function open(row, { push = true, focus = true } = {}) {
  const url = linkOf(row).href;
  setCurrent(row);
  if (focus) focusRow(row);
  await openAddress(url, { push, id: idOf(row) });
  const next = neighbour(row, 1);
  if (next) fetchAhead(linkOf(next).href);
  else await loadMore();
}

/** Open the next or previous row, loading more of the list when it ends. */
export async function step(by, { unread = false } = {}) {
  const from = currentRow() ?? focusedRow();
  if (!from) return void (firstRow() && open(firstRow()));
  const find = unread ? nextUnread : neighbour;
  let to = find(from, by);
  if (!to && by > 0) {
    await loadMore();
    to = find(from, by);
  }
  if (to) await open(to);
  else announce(say("end"));
}

export function showPane(name) {
  app.dataset.view = name;
  document.getElementById("list")?.toggleAttribute("role", false);
  article?.removeAttribute("role");
  const main = name === "article" ? article : document.getElementById("list");
  main?.setAttribute("role", "main");
  showLevel();
}

// The open article has the page's first heading, else the list.
function showLevel() {
  const title = document.getElementById("list-title");
  if (article?.querySelector("h1")) title?.setAttribute("aria-level", "2");
  else title?.removeAttribute("aria-level");
}

async function openAddress(url, { push, id }) {
  asked = url;
  if (push && url !== location.href) history.pushState({ entry: id }, "", url);
  const slow = setTimeout(() => article.setAttribute("aria-busy", "true"), 300);
  try {
    const html = await (kept.get(url) ?? part(url, "article"));
    if (asked === url) present(html);
  } catch (error) {
    kept.delete(url);
    if (isOffline(error)) showToast(say("notKept"));
    else explain(error, () => openAddress(url, { push: false, id }));
  } finally {
    clearTimeout(slow);
    article.removeAttribute("aria-busy");
  }
}

function present(html) {
  article.innerHTML = html;
  htmx.process(article);
  showPane("article");
  const read = article.querySelector(".read");
  if (!read) return;
  linkNeighbours(rowOf(read.dataset.entry));
  document.title = (document.title.match(/^\([\d\u202f]+\) /)?.[0] ?? "") + read.dataset.title;
  noteOpened(read);
  announce(read.querySelector("h1").textContent);
}

/** The part alone does not know what stands around its entry; the list does. */
function linkNeighbours(row) {
  for (const [name, by] of [["previous", -1], ["next", 1]]) {
    const beside = row && neighbour(row, by);
    const link = beside && article.querySelector(`#article-bar [data-act=${name}]`);
    if (!link) continue;
    link.href = linkOf(beside).href;
    link.removeAttribute("aria-disabled");
    link.removeAttribute("role");
  }
}

/** The open entry is read, the acts that need one are offered, and other modules may look at the text. */
function noteOpened(read) {
  const marks = !("keepUnread" in document.body.dataset);
  if (marks && read.hasAttribute("data-unread")) mark(read.dataset.entry, "read", true, { quiet: true });
  for (const button of document.querySelectorAll("#list-bar [data-needs-entry]")) {
    button.disabled = false;
    button.value = read.dataset.entry;
  }
  document.dispatchEvent(new CustomEvent("reedbed:article", { detail: read }));
}

function fetchAhead(url) {
  if (kept.has(url) || navigator.connection?.saveData) return;
  kept.set(
    url,
    part(url, "article", { "X-Purpose": "prefetch" }).catch((error) => {
      kept.delete(url);
      throw error;
    }),
  );
  kept.get(url).catch(() => {});
  if (kept.size > KEPT_AT_MOST) kept.delete(kept.keys().next().value);
}

function closeArticle() {
  asked = "";
  setCurrent(null);
  article.innerHTML = document.getElementById("no-article")?.innerHTML ?? "";
  showPane("list");
}

function follow() {
  const { pathname, search, href } = location;
  const view = app.dataset.viewUrl;
  if (!view || !(pathname === view || pathname.startsWith(`${view}/entry/`))) return location.reload();
  if (new URLSearchParams(search).get("pane") === "nav") return showPane("nav");
  const id = pathname.slice(view.length).match(/^\/entry\/(\d+)$/)?.[1];
  if (!id) return closeArticle();
  setCurrent(rowOf(id));
  return openAddress(href, { push: false, id });
}

const ACTS = {
  next: () => step(1),
  previous: () => step(-1),
  list: () =>
    history.state?.entry
      ? history.back()
      : (history.pushState(null, "", app.dataset.viewUrl + location.search), closeArticle()),
  nav: () => (history.pushState(null, "", "?pane=nav"), showPane("nav")),
};
document.addEventListener("click", (event) => {
  const control = event.target.closest("a[data-act]");
  const act = control && ACTS[control.dataset.act];
  if (!act || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (!document.getElementById("rows") && control.dataset.act !== "nav") return;
  event.preventDefault();
  act();
});

if (app && article) {
  addEventListener("popstate", follow);
  const read = article.querySelector(".read");
  if (read) queueMicrotask(() => noteOpened(read)); // once the modules after this one listen
  else if (/\/entry\/\d+$/.test(location.pathname)) follow(); // offline, the list stands in for the page
}
// The drawer closes by a touch beside it.
app?.addEventListener("click", (event) => {
  if (app.dataset.view === "nav" && event.target.closest(".pane") && !event.target.closest(".pane-nav"))
    history.back();
});
