// The next page comes before the end is reached; after 300 ms of waiting, skeletons say so.
import { announce } from "./announce.js";
import { explain, part } from "./requests.js";
import { say, sayCount } from "./words.js";

const seen = new IntersectionObserver(
  (entries) => entries.some((entry) => entry.isIntersecting) && loadMore(),
  {
    root: document.getElementById("list-body"),
    rootMargin: "0px 0px 1200px",
  },
);
let loading = null;

export function loadMore() {
  loading ??= load().finally(() => (loading = null));
  return loading;
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
    seen.unobserve(more);
    explain(error, () => loadMore());
  }
}

function append(more, html) {
  const arrived = document.createElement("template");
  arrived.innerHTML = html;
  const count = arrived.content.querySelectorAll(".row").length;
  for (const link of arrived.content.querySelectorAll(".row h3 a")) link.tabIndex = -1;
  more.replaceWith(arrived.content);
  announce(count ? sayCount("more", count) : say("end"));
  watch();
}

function watch() {
  seen.disconnect();
  const more = document.querySelector("#rows .more");
  if (more?.querySelector("a[rel=next]")) seen.observe(more);
}

document.addEventListener("reedbed:list", watch);
document.addEventListener("click", (event) => {
  if (!event.target.closest("#rows .more a")) return;
  event.preventDefault();
  loadMore();
});
watch();
