// The service worker keeps what was opened; marks made offline wait in the queue and are sent by themselves.
import { send, isOffline } from "./requests.js";
import { forget, waiting } from "./offline-queue.js";
import { forgetMark, noteSent } from "./marks.js";
import { announce } from "./announce.js";
import { TEMPLATES } from "./templates.js";
import { translate, translateCount } from "./i18n.js";

const KEPT_SHOWN = 30;
const [FIRST_WAIT, LONGEST_WAIT] = [1_000, 60_000];
const WAITED = "reedbed:waited";
const kept = document.getElementById("kept");

async function register() {
  if (!("serviceWorker" in navigator) || !document.body.dataset.live) return;
  const unseen = !navigator.serviceWorker.controller; // this page was not cached when it was loaded
  await navigator.serviceWorker.register("/sw.js");
  const { active } = await navigator.serviceWorker.ready;
  const shell = [...document.querySelectorAll("link[rel=stylesheet], link[rel=icon], script[src]")].map(
    (element) => element.href || element.src,
  );
  active.postMessage({
    keep: [...shell, new URL(document.body.dataset.icons, location).href, offlinePage()],
    pages: unseen ? pagesHere() : [],
  });
}

/** In the language of this page; the worker drops the one in another. */
function offlinePage() {
  return new URL(`/offline?language=${document.documentElement.lang}`, location).href;
}

/** What a reload without a network asks for: this page, the list that stands in for its entries, and what both show. */
function pagesHere() {
  const list = document.getElementById("app")?.dataset.viewUrl;
  const here = location.href.replace(/#.*/, "");
  return [...new Set([here, list ? new URL(list, location).href : here, new URL(TEMPLATES, location).href])];
}

let retry = 0;

/** Send marks that wait. A device may be online before the server can be reached: then try again, ever later. */
async function sendWaiting(wait = FIRST_WAIT) {
  clearTimeout(retry);
  if (!navigator.onLine) return; // the event `online` comes
  const marks = await waiting();
  let sent = 0;
  for (const mark of marks) {
    const { id, what, value } = mark;
    try {
      noteSent([id], what, value, await send(`/entry/${id}/${what}`, { value }));
    } catch (error) {
      if (error.status === 401) break; // until a user logs in
      if (isOffline(error) || error.status === 429 || error.status >= 500) {
        retry = setTimeout(sendWaiting, wait, Math.min(2 * wait, LONGEST_WAIT));
        break;
      }
      forgetMark(id, what);
    }
    await forget(mark);
    sent += 1;
  }
  if (!sent) return;
  announce(translateCount("sent", sent));
  await showSign();
}

async function showSign() {
  const marks = await waiting();
  takeSignAway();
  if (navigator.onLine && !marks.length) return; // a mark that waits shows that the browser is wrong about it
  const places = [...document.querySelectorAll("#list-body, .pane-body:not(.tree)")];
  const place = places.find((body) => body.offsetParent); // on a phone only one pane is there
  const shape = document.getElementById("offline-sign");
  if (!place || !shape) return;
  const banner = shape.content.firstElementChild.cloneNode(true);
  banner.dataset.offline = "";
  const text = [translate("offline"), marks.length ? translateCount("waiting", marks.length) : ""].join(" ").trim();
  banner.querySelector("p").textContent = text;
  place.prepend(banner);
}

function takeSignAway() {
  for (const sign of document.querySelectorAll(".banner[data-offline]")) sign.remove();
}

/** What can be read without a network: the texts that were opened, the newest first. */
async function showKept(list) {
  const cache = await caches.open("reedbed-read-1");
  const keys = (await cache.keys()).filter(({ url }) => /\/entry\/\d+\?(.*&)?part=article/.test(url));
  const lines = await Promise.all(keys.reverse().slice(0, KEPT_SHOWN).map((key) => keptLine(cache, key)));
  const none = document.createElement("li");
  none.textContent = list.dataset.none;
  const shown = lines.filter(Boolean);
  list.replaceChildren(...(shown.length ? shown : [none]));
}

async function keptLine(cache, key) {
  const html = await (await cache.match(key)).text();
  const read = new DOMParser().parseFromString(html, "text/html").querySelector(".read");
  if (!read) return null;
  const url = new URL(key.url);
  url.searchParams.delete("part");
  const link = document.createElement("a");
  link.href = url.pathname + url.search;
  link.textContent = read.querySelector("h1").textContent;
  link.dir = "auto";
  const line = document.createElement("li");
  line.append(link);
  return line;
}

async function comeBack() {
  await showSign();
  announce(translate("online"));
  await sendWaiting();
}

/** This page stands in for another one: load that as soon as the server answers. */
async function loadWhenReachable() {
  if (!navigator.onLine) return; // the event `online` comes
  const wait = Number(sessionStorage.getItem(WAITED)) || FIRST_WAIT; // it outlives a reload that fails as well
  sessionStorage.setItem(WAITED, String(Math.min(2 * wait, LONGEST_WAIT)));
  const reached = await fetch("/healthz", { cache: "no-store" }).then(() => true, () => false);
  if (reached) location.reload();
  else setTimeout(loadWhenReachable, wait);
}

if (document.body.dataset.live) {
  addEventListener("offline", showSign);
  addEventListener("online", comeBack);
  document.addEventListener("reedbed:queued", () => {
    showSign();
    clearTimeout(retry);
    retry = setTimeout(sendWaiting, FIRST_WAIT);
  });
  document.addEventListener("reedbed:list", showSign);
  document.addEventListener("reedbed:article", showSign);
  if (navigator.onLine) sendWaiting().catch(() => {});
  else showSign();
  // Without the worker the page only loses its offline reading.
  register().catch(() => {});
}
if (kept) {
  if ("caches" in window) showKept(kept).catch(() => {});
  addEventListener("online", loadWhenReachable);
  setTimeout(loadWhenReachable, Number(sessionStorage.getItem(WAITED)) || FIRST_WAIT);
} else sessionStorage.removeItem(WAITED);
