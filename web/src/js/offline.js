// The service worker keeps what was opened; marks made offline wait in the queue and are sent by themselves.
import { send, isOffline } from "./requests.js";
import { forget, waiting } from "./queue.js";
import { announce } from "./announce.js";
import { say, sayCount } from "./words.js";

const KEPT_SHOWN = 30;
const kept = document.getElementById("kept");

async function register() {
  if (!("serviceWorker" in navigator) || !document.body.dataset.live) return;
  const unseen = !navigator.serviceWorker.controller; // nobody kept this page when it was loaded
  await navigator.serviceWorker.register("/sw.js");
  const { active } = await navigator.serviceWorker.ready;
  const shell = [...document.querySelectorAll("link[rel=stylesheet], link[rel=icon], script[src]")].map(
    (element) => element.href || element.src,
  );
  active.postMessage({
    keep: [...shell, new URL(document.body.dataset.icons, location).href],
    pages: unseen ? pagesHere() : [],
  });
}

/** What a reload without a network asks for: this page, and the list that stands in for its entries. */
function pagesHere() {
  const list = document.getElementById("app")?.dataset.viewUrl;
  const here = location.href.replace(/#.*/, "");
  return [...new Set([here, list ? new URL(list, location).href : here])];
}

async function sendWaiting() {
  const marks = await waiting();
  let sent = 0;
  for (const mark of marks) {
    try {
      await send(`/entry/${mark.id}/${mark.what}`, { value: mark.value });
    } catch (error) {
      if (isOffline(error)) break;
    }
    await forget(mark);
    sent += 1;
  }
  if (sent) announce(sayCount("sent", sent));
}

async function showSign() {
  takeSignAway();
  if (navigator.onLine) return;
  const places = [...document.querySelectorAll("#list-body, .pane-body:not(.tree)")];
  const place = places.find((body) => body.offsetParent); // on a phone only one pane is there
  const shape = document.getElementById("offline-sign");
  if (!place || !shape) return;
  const marks = await waiting();
  const banner = shape.content.firstElementChild.cloneNode(true);
  banner.dataset.offline = "";
  const text = [say("offline"), marks.length ? sayCount("waiting", marks.length) : ""].join(" ").trim();
  banner.querySelector("p").textContent = text;
  takeSignAway(); // another may have been put up while this one waited
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
  announce(say("online"));
  await sendWaiting();
  if (kept) location.reload(); // the page that was asked for
}

if (document.body.dataset.live) {
  addEventListener("offline", showSign);
  addEventListener("online", comeBack);
  document.addEventListener("reedbed:queued", showSign);
  document.addEventListener("reedbed:list", showSign);
  document.addEventListener("reedbed:article", showSign);
  showSign();
  if (navigator.onLine) sendWaiting().catch(() => {});
  // Without the worker the page only loses its offline reading.
  register().catch(() => {});
}
if (kept && "caches" in window) showKept(kept).catch(() => {});
