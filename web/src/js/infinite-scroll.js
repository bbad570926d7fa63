// The next page comes before the end is reached; after 300 ms of waiting, skeletons say so.
import { announce } from "./announce.js";
import { watchSections } from "./virtual-list.js";
import { showKnown } from "./marks.js";
import { explain, part } from "./requests.js";
import { translate, translateCount } from "./i18n.js";

let seen = null;
let loading = null;

export function loadMore() {
  loading ??= load().finally(() => (loading = null));
  return loading;
}

/** A page of a search may be empty and yet not the last one. */
export function hasMore() {
  return document.querySelector("#rows .more a[rel=next]") !== null;
}

async function load() {
  const more = document.querySelector("#rows .more");
  const next = more?.querySelector("a[rel=next]");
  if (!next) return;
  const slow = setTimeout(
    () => more.replaceChildren(document.getElementById("skeleton").content.cloneNode(true)),
    300,
  );
  try {
    const html = await part(next.href, "rows");
    clearTimeout(slow);
    append(more, html);
  } catch (error) {
    clearTimeout(slow);
    more.replaceChildren(next);
    seen?.disconnect();
    explain(error, () => loadMore());
  }
}

function append(more, html) {
  const arrived = document.createElement("template");
  arrived.innerHTML = html;
  const count = arrived.content.querySelectorAll(".row").length;
  for (const link of arrived.content.querySelectorAll(".row h3 a")) link.tabIndex = -1;
  more.replaceWith(arrived.content);
  watchSections();
  showKnown();
  if (count) announce(translateCount("more", count));
  else if (!hasMore()) announce(translate("end"));
  watch();
}

function nearEnd(changes) {
  if (changes.some((change) => change.isIntersecting)) loadMore();
}

function watch() {
  seen?.disconnect();
  const more = document.querySelector("#rows .more");
  if (!more?.querySelector("a[rel=next]")) return;
  // Each time anew: a list that was loaded again scrolls in an element of its own.
  const root = document.getElementById("list-body");
  seen = new IntersectionObserver(nearEnd, { root, rootMargin: "0px 0px 1200px" });
  seen.observe(more);
}

document.addEventListener("reedbed:list", watch);
document.addEventListener("click", (event) => {
  if (!event.target.closest("#rows .more a")) return;
  event.preventDefault();
  loadMore();
});
watch();
