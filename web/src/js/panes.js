// Pane widths in whole rems: dragged freely, kept rounded, written by the server next time.
import { savePreference } from "./preferences.js";

const app = document.getElementById("app");
const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);

function width(split) {
  return split.closest(".pane").getBoundingClientRect().width / rem;
}

function drag(split, rems) {
  const low = Number(split.getAttribute("aria-valuemin"));
  const high = Number(split.getAttribute("aria-valuemax"));
  const size = Math.min(high, Math.max(low, rems));
  app.style.setProperty(`--w-${split.dataset.of}`, `${size}rem`);
  split.setAttribute("aria-valuenow", String(Math.round(size)));
}

function keep(split) {
  const name = split.dataset.of;
  const size = split.getAttribute("aria-valuenow");
  app.style.removeProperty(`--w-${name}`);
  app.dataset[name] = size;
  savePreference(name, size);
}

function reset(split) {
  delete app.dataset[split.dataset.of];
  app.style.removeProperty(`--w-${split.dataset.of}`);
  savePreference(split.dataset.of, "");
}

document.addEventListener("pointerdown", (event) => {
  const split = event.target.closest(".split");
  if (!split) return;
  event.preventDefault();
  split.setPointerCapture(event.pointerId);
  const mirrored = getComputedStyle(app).direction === "rtl" ? -1 : 1;
  const from = width(split);
  const move = (moved) => drag(split, from + (mirrored * (moved.clientX - event.clientX)) / rem);
  const drop = () => {
    split.removeEventListener("pointermove", move);
    keep(split);
  };
  split.addEventListener("pointermove", move);
  split.addEventListener("lostpointercapture", drop, { once: true });
});
document.addEventListener("dblclick", (event) => {
  const split = event.target.closest(".split");
  if (split) reset(split);
});
document.addEventListener("keydown", (event) => {
  const split = event.target.closest?.(".split");
  if (!split) return;
  const mirrored = getComputedStyle(app).direction === "rtl" ? -1 : 1;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step) {
    drag(split, Math.round(width(split)) + mirrored * step);
    keep(split);
  } else if (event.key === "Home") reset(split);
  else return;
  event.preventDefault();
});

// The bar of a page names it once its heading has scrolled away.
const again = document.querySelector(".bar-title[data-again]");
const heading = document.querySelector(".pane-page h1");
if (again && heading)
  new IntersectionObserver(([{ isIntersecting }]) => again.toggleAttribute("data-shown", !isIntersecting), {
    root: heading.closest(".pane-body"),
  }).observe(heading);
