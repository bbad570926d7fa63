// News from the server: counts, other devices' marks, new entries. They are announced and never push the list.
import { announce } from "./announce.js";
import { undidRecently } from "./bulk.js";
import { foldersOf, refreshCounts } from "./counts.js";
import { reloadList } from "./list.js";
import { json } from "./requests.js";
import { show } from "./marks.js";
import { allRows, idOf } from "./rows.js";
import { clearCache } from "./article-cache.js";
import { refreshTree } from "./tree.js";
import { extendToast, showToast } from "./toast.js";
import { trigger } from "./htmx.js";
import { number, translate, translateCount } from "./i18n.js";
import { playRecording } from "./player-start.js";

const address = document.body.dataset.live;
const MINUTE = 60_000;
const HIDDEN_FOR = 30_000;
let stream = null;
let wait = 1000;
let fresh = 0;
let lastRefresh = 0;
let hideTimer = 0;

function listen() {
  if (stream || !address || !navigator.onLine) return;
  stream = new EventSource(beginning());
  stream.addEventListener("open", () => (wait = 1000));
  stream.addEventListener("error", retryWhenClosed);
  for (const [name, handle] of Object.entries(HANDLERS))
    stream.addEventListener(name, (event) => {
      if (event.lastEventId) document.body.dataset.newest = event.lastEventId;
      handle(parsed(event));
    });
}

// The first stream begins where the page ends, a later one where the last one ended, so that nothing is missed.
function beginning() {
  const { newest } = document.body.dataset;
  return newest ? `${address}?since=${encodeURIComponent(newest)}` : address;
}

const HANDLERS = {
  counts: () => refreshCountsSoon(),
  new_entry: noteNew,
  state_changed: noteState,
  entry_updated: noteUpdate,
  progress: noteProgress,
  subscriptions: () => (refreshFeedsSoon(), refreshTreeSoon()),
  notice: noteNotice,
  resync: () => (refreshCountsSoon(), refreshTreeSoon(), noteState({ what: "queue" })),
};

function parsed(event) {
  try {
    return JSON.parse(event.data);
  } catch {
    return {};
  }
}

// The browser reconnects by itself, except after a refusal.
function retryWhenClosed() {
  if (stream?.readyState !== EventSource.CLOSED) return;
  stream = null;
  setTimeout(listen, wait);
  wait = Math.min(wait * 2, MINUTE);
}

function quiet() {
  stream?.close();
  stream = null;
}

/** `{feed_id, ids}`: the page learns how many there are, never what is in them. */
function noteNew(news) {
  refreshCountsSoon();
  refreshFeedsSoon();
  if (!concernsView(String(news.feed_id ?? ""))) return;
  fresh += news.ids?.length || 1;
  const line = document.getElementById("fresh");
  if (!line) return;
  if (!document.querySelector("#rows .row")) return fillSoon();
  line.hidden = false;
  line.firstElementChild.textContent = translateCount("fresh", fresh);
  if (Date.now() - lastRefresh > MINUTE) {
    lastRefresh = Date.now();
    announce(translateCount("new", fresh));
  }
}

function concernsView(feed) {
  const view = document.getElementById("app")?.dataset.viewUrl ?? "";
  if (view === "/unread" || view === "/all") return true;
  const link = document.querySelector(`#tree [data-count="feed:${CSS.escape(feed)}"]`)?.closest("a");
  if (view.startsWith("/feed/")) return link?.getAttribute("href") === view;
  return view.startsWith("/folder/") && foldersOf(`feed:${feed}`).includes(view.slice(8));
}

/** `{ids, read?, starred?, later?}`; about a whole list the server names none. */
function noteState(state) {
  if (state.what === "queue" || state.what === "position")
    return void document.dispatchEvent(new CustomEvent("reedbed:playback", { detail: state }));
  if (!state.what && !state.ids?.length && typeof state.read === "boolean")
    return void noteMany(state.read).catch(() => {});
  for (const id of state.ids ?? []) {
    for (const what of ["read", "starred", "later"])
      if (typeof state[what] === "boolean") show(id, what, state[what]);
  }
}

/** A feed without unread entries has none in the list, either; what was taken back is asked for. */
async function noteMany(read) {
  // Where it was taken back the list has been loaded; loaded again it would jump.
  if (!read) return undidRecently() ? undefined : reloadList();
  const { feeds } = await json("/api/v1/counts");
  for (const row of allRows())
    if (row.hasAttribute("data-unread") && !feeds[row.dataset.feed]) show(idOf(row), "read", true);
  refreshCountsSoon();
}

function noteUpdate(news) {
  clearCache();
  const open = document.querySelector("#article .read")?.dataset.entry;
  if (open && (news.ids ?? []).map(String).includes(open)) trigger("summaryReady");
}

/** `{rule: {name}, entries: [{id, title}]}`: a rule of the reader's own has met something. */
function noteNotice(notice) {
  const { event, rule, entries, target, webhook } = notice;
  if (event === "shared") return showToast(translate("shared", { name: target }));
  if (event === "not_shared") return announceLink(notice.problem, "/settings/sharing");
  if (event === "answered") return announceLink(notice.question, `/ask/${notice.question_id}`);
  if (event === "story") return announceLink(`${notice.feed}: ${notice.title}`, `/stories/${notice.story_id}`);
  if (webhook) return announceLink(translate("webhookOff", webhook), `/settings/webhooks/${webhook.id}`);
  if (rule && entries?.length) announceLink(`${rule.name}: ${entries[0].title}`, `/entry/${entries[0].id}`);
}

function announceLink(words, where) {
  showToast(words, { label: translate("show"), act: () => location.assign(where) });
}

function noteProgress(progress) {
  if (progress.what === "opml") showImport(progress);
  else if (progress.kind === "refresh") showRefresh(progress);
  else if (progress.kind === "listening") noteSpoken(progress);
  else refreshFeedsSoon();
}

/** `{status, title, entry_id}`: what was asked to be read aloud can be played, or could not be read. */
function noteSpoken({ status, title, entry_id }) {
  if (status !== "ready" || !entry_id) return showToast(translate("notSpoken"));
  showToast(translate("spoken", { title }), { label: translate("play"), act: () => playRecording(entry_id) });
}

/** "12 of 40" in the foot of the sidebar and in the message that the refresh has started. */
function showRefresh({ done, total }) {
  const place = document.getElementById("refresh-progress");
  const text = translate("ofTotal", { n: number(done), total: number(total) });
  if (place) place.textContent = text;
  extendToast("/refresh", text);
  if (done < total) return;
  setTimeout(() => place && (place.textContent = ""), MINUTE / 20);
  refreshTreeSoon(); // it shows when feeds were checked
  refreshFeedsSoon();
}

function showImport({ done, total }) {
  const place = document.getElementById("import");
  if (!place || !document.querySelector("#drop.htmx-request")) return;
  const bar = place.querySelector("progress") ?? place.appendChild(document.createElement("progress"));
  bar.max = total || 1;
  bar.value = done;
  bar.setAttribute("aria-label", `${done} / ${total}`);
}

const refreshFeedsSoon = settled(1500, () => {
  const list = document.getElementById("feed-list-container");
  if (list && !list.querySelector(".feed-edit > *, details[open], :focus"))
    trigger("refreshFeedList");
});
const refreshTreeSoon = settled(1500, refreshTree);
// Nothing can jump in an empty list: it fills by itself.
const fillSoon = settled(700, () => (reloadList({ top: true }), refreshTreeSoon()));
const refreshCountsSoon = settled(700, () => refreshCounts().catch(() => {}));

/** Run once, when the hail of calls is over. */
function settled(after, act) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, after);
  };
}

document.addEventListener("click", (event) => {
  if (!event.target.closest("#fresh a")) return;
  event.preventDefault();
  reloadList({ top: true });
});
document.addEventListener("reedbed:list", () => (fresh = 0));

// A hidden tab lets its connection go: a browser has only six for all its tabs.
document.addEventListener("visibilitychange", () => {
  clearTimeout(hideTimer);
  if (document.hidden) hideTimer = setTimeout(quiet, HIDDEN_FOR);
  else if (!stream && address) {
    listen();
    refreshCounts().catch(() => {});
  }
});
addEventListener("offline", quiet); // else the browser tries again every two seconds
addEventListener("online", listen);
addEventListener("pagehide", quiet);
addEventListener("pageshow", listen);
