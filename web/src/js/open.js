// Opening entries beside the list. The address always names what is shown, so Back, reload and new tabs work.
import { announce } from "./announce.js";
import { hasMore, loadMore } from "./infinite-scroll.js";
import { afterPaint, loadSheet, morph } from "./dom.js";
import { findRow } from "./virtual-list.js";
import { mark, pressAs, showKnown } from "./marks.js";
import { explain, isOffline } from "./requests.js";
import {
  currentRow,
  firstRow,
  focusRow,
  focusedRow,
  idOf,
  linkOf,
  neighbour,
  nextUnread,
  rowInWindow,
  setCurrent,
} from "./rows.js";
import { forget, articleNodes, prefetch } from "./article-cache.js";
import { translate } from "./i18n.js";
import { showToast } from "./toast.js";
import { process } from "./htmx.js";

const app = document.getElementById("app");
const article = document.getElementById("article");
const MOST_EMPTY_PAGES = 5;
let asked = "";

/** Open this row; the one after it on the reader's way is made ready. */
export async function open(row, way = 1) {
  const url = linkOf(row).href;
  setCurrent(row);
  focusRow(row);
  await openAddress(url, { push: true, id: idOf(row) });
  const next = neighbour(row, way);
  if (next) afterPaint(() => prefetch(linkOf(next).href));
  else if (way > 0) await loadMore();
}

/** Open the next or previous row, loading more of the list when it ends. */
export async function step(by, { unread = false } = {}) {
  const from = currentRow() ?? focusedRow();
  if (!from) return void (firstRow() && open(firstRow()));
  const find = unread ? nextUnread : neighbour;
  const seen = rowInWindow(from, by);
  let to = !seen || (unread && !seen.hasAttribute("data-unread")) ? find(seen ?? from, by) : seen;
  for (let tries = 0; !to && by > 0 && hasMore() && tries < MOST_EMPTY_PAGES; tries++) {
    await loadMore();
    to = find(from, by);
  }
  if (to) await open(to, by);
  else announce(translate("end"));
}

function showPane(name) {
  showLevel();
  if (app.dataset.view === name) return;
  app.dataset.view = name;
  document.getElementById("list")?.toggleAttribute("role", false);
  article?.removeAttribute("role");
  const main = name === "article" ? article : document.getElementById("list");
  main?.setAttribute("role", "main");
}

// The open article has the page's first heading, else the list.
function showLevel() {
  const title = document.getElementById("list-title");
  if (article?.querySelector("h1")) title?.setAttribute("aria-level", "2");
  else title?.removeAttribute("aria-level");
}

/** How many steps back the list is; NaN where the way did not begin there. */
function stepsFromList() {
  return location.pathname === app.dataset.viewUrl ? 0 : (history.state?.steps ?? NaN);
}

async function openAddress(url, { push, id }) {
  asked = url;
  if (push && url !== location.href) history.pushState({ entry: id, steps: stepsFromList() + 1 }, "", url);
  const slow = setTimeout(() => article.setAttribute("aria-busy", "true"), 300);
  try {
    const [nodes] = await Promise.all([articleNodes(url), loadSheet(document.body.dataset.article)]);
    if (asked === url) present(nodes);
  } catch (error) {
    if (asked === url) emptyArticle(); // Another text must not seem to be the chosen one.
    if (isOffline(error)) showToast(translate("notKept"));
    else explain(error, () => openAddress(url, { push: false, id }));
  } finally {
    clearTimeout(slow);
    article.removeAttribute("aria-busy");
  }
}

function present(nodes) {
  const read = nodes.querySelector(".read");
  const row = read && findRow(read.dataset.entry);
  if (row) linkNeighbours(row, nodes);
  if (row) pressAs(row, nodes);
  else forget(asked); // Nothing would report how it is marked when it is shown again.
  put(nodes);
  if (read && !row) showKnown();
  showPane("article");
  if (!read) return;
  entitle(read.dataset.title);
  noteOpened(read);
  announce(read.querySelector("h1").textContent);
}

/** The count of the unread stays before it. */
function entitle(title) {
  document.title = (document.title.match(/^\([\d\u202f]+\) /)?.[0] ?? "") + title;
}

/** The bars stay and change where they differ; between them another text begins. */
function put(nodes) {
  const body = document.getElementById("article-body");
  const text = nodes.getElementById("article-body");
  const old = [...article.children];
  const fresh = [...nodes.children];
  if (!body || !text || old.length !== fresh.length) article.replaceChildren(nodes);
  else {
    const scrolled = body.scrollTop > 0; // Asked before anything changes: afterwards it would cost a layout.
    old.forEach((part, place) => part !== body && morph(part, fresh[place]));
    body.replaceChildren(...text.childNodes);
    if (scrolled) body.scrollTop = 0;
  }
  for (const live of article.querySelectorAll(".bar :is([hx-post], [hx-get])")) process(live);
  if (text) afterPaint(() => process(body?.isConnected ? body : text));
}

/** The part alone does not know what stands around its entry; the list does. */
function linkNeighbours(row, nodes) {
  for (const [name, by] of [["previous", -1], ["next", 1]]) {
    const beside = neighbour(row, by);
    for (const link of beside ? nodes.querySelectorAll(`.bar [data-act=${name}]`) : []) {
      link.href = linkOf(beside).href;
      link.removeAttribute("aria-disabled");
      link.removeAttribute("role");
    }
  }
  nameNext(neighbour(row, 1), nodes.querySelector(".read-next"));
}

/** At the end of the text stands what comes after it. */
function nameNext(row, place) {
  if (!row || !place) return;
  const title = linkOf(row).cloneNode(true);
  title.querySelector(".unread-text")?.remove();
  const link = place.querySelector("a");
  link.href = title.href;
  link.lang = linkOf(row).closest("[lang]").lang;
  link.textContent = title.textContent;
  place.hidden = false;
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

function closeArticle() {
  asked = "";
  setCurrent(null);
  emptyArticle();
  focusedRow()?.scrollIntoView({ block: "nearest" }); // a wide list lays its rows out anew
}

function emptyArticle() {
  article.innerHTML = document.getElementById("no-article")?.innerHTML ?? "";
  const list = document.getElementById("list-title");
  if (list) entitle(`${list.textContent} · Reedbed`);
  showPane("list");
}

function follow() {
  const { pathname, search, href } = location;
  const view = app.dataset.viewUrl;
  if (!view || !(pathname === view || pathname.startsWith(`${view}/entry/`))) return location.reload();
  if (new URLSearchParams(search).get("pane") === "nav") return showPane("nav");
  const id = pathname.slice(view.length).match(/^\/entry\/(\d+)$/)?.[1];
  if (!id) return closeArticle();
  setCurrent(findRow(id));
  return openAddress(href, { push: false, id });
}

const ACTS = {
  next: () => step(1),
  previous: () => step(-1),
  list: () =>
    stepsFromList()
      ? history.go(-stepsFromList())
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
  article.addEventListener("htmx:afterSwap", () => forget(location.href));
  const read = article.querySelector(".read");
  if (read) queueMicrotask(() => noteOpened(read)); // once the modules after this one listen
  else if (/\/entry\/\d+$/.test(location.pathname)) follow(); // offline, the list stands in for the page
}
// The drawer closes by a touch beside it.
app?.addEventListener("click", (event) => {
  if (app.dataset.view === "nav" && event.target.closest(".pane") && !event.target.closest(".pane-nav"))
    history.back();
});
