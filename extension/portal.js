// A site's front page as Reedbed's deframer tells it. Everything is set as text: nothing of a site is executed.
import { letPass } from "./portals.js";
import { siteOf } from "./reedbed.js";

const $ = (id) => document.getElementById(id);
const front = new URL(new URLSearchParams(location.search).get("site"));
const { hostname } = front;

async function begin() {
  document.title = `${hostname} · Reedbed`;
  $("site").textContent = hostname;
  $("own").addEventListener("click", leave);
  try {
    const { items } = await siteOf(hostname);
    $("message").textContent = items.length ? "" : "Nothing has been deframed yet.";
    $("items").append(...items.map(drawn));
    $("caveat").textContent = items[0]?.caveat ?? "";
  } catch (error) {
    $("message").textContent = error.status === 404 ? "Your Reedbed does not deframe this site." : error.message;
    $("message").className = "error";
  }
}

function drawn(item) {
  const drawing = $("item").content.cloneNode(true);
  const link = drawing.querySelector("a");
  link.textContent = item.title_corrected;
  link.title = `Originally: ${item.title_original}`;
  if (/^https?:/.test(item.url ?? "")) link.href = item.url;
  drawing.querySelector(".text").textContent = item.description_corrected;
  const when = new Date(item.published_at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  drawing.querySelector(".facts").textContent = [item.feed_title, when, `wording: ${item.band}`].join(" · ");
  return drawing;
}

async function leave(event) {
  event.preventDefault();
  await letPass(hostname);
  location.href = front.href;
}

begin();
