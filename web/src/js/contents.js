// How much of an article is read, and its contents: in the bar, and beside the text in focus.
import { isFocused } from "./focus.js";
import { translate, translateCount } from "./i18n.js";

const FROM_HEADINGS = 3;
const FROM_MINUTES = 3;
const LINE = 0.3; // a heading above this part of the window is the current one
let shown = null;

export function prepareContents(read, prose) {
  const headings = [...prose.querySelectorAll("h1, h2, h3")].filter((heading) => heading.textContent.trim());
  shown = {
    read,
    body: read.closest(".pane-body"),
    minutes: Number(read.dataset.minutes) || 0,
    headings: headings.length >= FROM_HEADINGS ? headings : [],
    current: -2,
  };
  const menu = document.getElementById("contents");
  if (menu) {
    menu.hidden = !shown.headings.length;
    menu.querySelector("nav").replaceChildren(list());
  }
  showAside();
  update();
}

function list() {
  const top = Math.min(...shown.headings.map(level));
  const list = document.createElement("ol");
  shown.headings.forEach((heading, place) => {
    const item = document.createElement("li");
    const link = document.createElement("button");
    link.type = "button";
    link.dataset.heading = place;
    link.dir = "auto";
    link.textContent = heading.textContent.trim();
    item.toggleAttribute("data-sub", level(heading) > top);
    item.append(link);
    list.append(item);
  });
  return list;
}

function level(heading) {
  return Number(heading.localName[1]);
}

/** In focus the contents stand beside the text. */
function showAside() {
  document.getElementById("toc")?.remove();
  if (!shown?.body?.isConnected || !isFocused() || !(shown.headings.length || shown.minutes >= FROM_MINUTES)) return;
  const aside = document.createElement("nav");
  aside.id = "toc";
  aside.className = "toc";
  aside.ariaLabel = translate("contents");
  const title = document.createElement("h2");
  title.textContent = translate("contents");
  const left = document.createElement("p");
  left.className = "left";
  aside.append(...(shown.headings.length ? [title, list()] : []), left);
  shown.body.prepend(aside);
  shown.current = -2;
}

function update() {
  if (!shown?.read.isConnected) return;
  const { body, minutes } = shown;
  const room = body.scrollHeight - body.clientHeight;
  const part = room > 0 ? Math.min(1, body.scrollTop / room) : 1;
  showProgress(part, minutes >= FROM_MINUTES && room > 0);
  const left = document.querySelector("#toc .left");
  if (left && minutes) left.textContent = translateCount("left", Math.ceil(minutes * (1 - part)));
  if (shown.headings.length) showCurrent(currentHeading());
}

function showProgress(part, offered) {
  const bar = document.getElementById("read-progress");
  if (!bar) return;
  bar.hidden = !offered;
  bar.ariaValueNow = String(Math.round(part * 100));
  bar.firstElementChild.style.transform = `scaleX(${part})`;
}

function currentHeading() {
  const line = shown.body.getBoundingClientRect().top + shown.body.clientHeight * LINE;
  return shown.headings.findLastIndex((heading) => heading.getBoundingClientRect().top <= line);
}

function showCurrent(place) {
  if (place === shown.current) return;
  shown.current = place;
  const total = shown.headings.length;
  const where = translate("ofTotal", { n: Math.max(1, place + 1), total });
  const summary = document.querySelector("#contents > summary");
  if (summary) {
    const title = place < 0 ? translate("contents") : shown.headings[place].textContent.trim();
    summary.querySelector(".where").textContent = where;
    summary.querySelector(".title").textContent = title;
    summary.ariaLabel = `${translate("contents")}: ${where}`;
  }
  for (const button of document.querySelectorAll("[data-heading]")) {
    const its = Number(button.dataset.heading);
    button.parentElement.toggleAttribute("data-done", its < place);
    if (its === place) button.ariaCurrent = "true";
    else button.removeAttribute("aria-current");
  }
}

function reveal(heading) {
  heading.scrollIntoView({ block: "start" });
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

let waiting = false;
document.addEventListener(
  "scroll",
  ({ target }) => {
    if (waiting || target !== shown?.body) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      update();
    });
  },
  { capture: true, passive: true },
);
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-heading]");
  const heading = button && shown?.headings[button.dataset.heading];
  if (!heading) return;
  document.getElementById("contents")?.removeAttribute("open");
  reveal(heading);
});
document.addEventListener("reedbed:focus", () => {
  showAside();
  update();
});
