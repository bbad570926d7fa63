// News from the server: counts, other devices' marks, new entries. They are announced and never push the list.
import { announce } from "./announce.js";
import { foldersOf, refreshCounts, showAll } from "./counts.js";
import { reloadList } from "./list.js";
import { show } from "./marks.js";
import htmx from "./htmx.js";
import { sayCount } from "./words.js";

const address = document.body.dataset.live;
const MINUTE = 60_000;
const HIDDEN_FOR = 30_000;
let stream = null;
let wait = 1000;
let fresh = 0;
let told = 0;
let hideTimer = 0;

function listen() {
  if (stream || !address) return;
  stream = new EventSource(address);
  stream.addEventListener("open", () => (wait = 1000));
  stream.addEventListener("error", retryWhenClosed);
  for (const [name, handle] of Object.entries(HEARD))
    stream.addEventListener(name, (event) => handle(parsed(event)));
}

const HEARD = {
  counts: showAll,
  new_entry: noteNew,
  state_changed: noteState,
  entry_updated: noteUpdate,
  progress: noteProgress,
  resync: () => refreshCounts().catch(() => {}),
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

function noteNew(entry) {
  refreshCountsSoon();
  noteProgress();
  if (!concernsView(entry)) return;
  fresh += entry.count ?? 1;
  const line = document.getElementById("fresh");
  if (!line) return;
  line.hidden = false;
  line.firstElementChild.textContent = sayCount("fresh", fresh);
  if (Date.now() - told > MINUTE) {
    told = Date.now();
    announce(sayCount("new", fresh));
  }
}

function concernsView(entry) {
  const view = document.getElementById("app")?.dataset.viewUrl ?? "";
  const feed = entry.subscription_id;
  if (view === "/unread" || view === "/all") return true;
  if (view.startsWith("/feed/")) return view === `/feed/${feed}`;
  return view.startsWith("/folder/") && foldersOf(`feed:${feed}`).includes(view.slice(8));
}

function noteState(state) {
  for (const id of state.ids ?? [state.id]) {
    for (const what of ["read", "starred", "later"])
      if (typeof state[what] === "boolean") show(id, what, state[what]);
  }
}

function noteUpdate(entry) {
  if (String(entry.id) === document.querySelector("#article .read")?.dataset.entry)
    htmx.trigger(document.body, "summaryReady");
}

const noteProgress = settled(1500, () => {
  const list = document.getElementById("feed-list-container");
  if (list && !list.querySelector(".feed-edit > *, details[open], :focus"))
    htmx.trigger(document.body, "refreshFeedList");
});
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
addEventListener("pagehide", quiet);
addEventListener("pageshow", listen);
