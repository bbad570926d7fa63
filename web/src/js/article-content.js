// Images and wide parts of articles. Images of an article open large, also by keyboard; those of the list may be missing.
import { translate } from "./i18n.js";

const SMALL = 160;
const lightbox = document.getElementById("lightbox");

function offer(read) {
  for (const image of read.querySelectorAll(".prose img")) {
    // The attribute, not the box: asking for the box would lay the page out before it is painted.
    const width = Number(image.getAttribute("width"));
    if (image.closest("a, button") || (width && width < SMALL)) continue;
    image.tabIndex = 0;
    image.role = "button";
    image.ariaLabel = image.alt || translate("picture");
  }
}

let enlarged = null;

function enlarge(image) {
  const large = lightbox.querySelector("img");
  enlarged = image;
  large.removeAttribute("data-full");
  large.src = image.currentSrc || image.src;
  large.alt = image.alt;
  lightbox.querySelector("p").textContent =
    image.closest("figure")?.querySelector("figcaption")?.textContent ?? image.alt;
  if (!lightbox.open) lightbox.showModal();
}

/** The picture before or after the enlarged one. */
function turn(by) {
  const images = [...document.querySelectorAll("#article .prose img[role=button]")];
  const next = images[images.indexOf(enlarged) + by];
  if (next) enlarge(next);
}

const LISTED = ".row img:not(.fav), .pics img, .recordings img, .ep > img, .digest img";

// An image that cannot be had leaves no empty frame.
function takeAway(image) {
  const pictures = image.closest(".pics");
  image.closest(".row")?.removeAttribute("data-pictured");
  (pictures ? image.closest("a") : image).remove();
  if (pictures) pictures.dataset.count = pictures.childElementCount;
  if (pictures && !pictures.childElementCount) pictures.closest("figure").remove();
}

// Errors of pictures are only seen in the capture phase, and not at all before this script is there.
document.addEventListener("error", ({ target }) => target.matches?.(LISTED) && takeAway(target), true);
for (const image of document.querySelectorAll(LISTED))
  if (image.complete && image.currentSrc && !image.naturalWidth) takeAway(image);

if (lightbox) {
  document.addEventListener("reedbed:article", (event) => offer(event.detail));
  document.addEventListener("click", (event) => {
    const image = event.target.closest(".prose img[role=button]");
    if (image) enlarge(image);
  });
  lightbox.addEventListener("click", ({ target }) => {
    if (target.localName === "img") target.toggleAttribute("data-full");
  });
  lightbox.addEventListener("keydown", ({ key }) => {
    const onwards = document.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    if (["ArrowLeft", "ArrowRight"].includes(key)) turn(key === onwards ? 1 : -1);
    if (key === "+" || key === "-") lightbox.querySelector("img").toggleAttribute("data-full", key === "+");
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.matches?.(".prose img[role=button]") && ["Enter", " "].includes(event.key)) {
      event.preventDefault();
      enlarge(event.target);
    }
  });
}

// Code that scrolls sideways can be focused and scrolled with the keyboard.
function makeFocusable(read) {
  for (const wide of read.querySelectorAll(".prose pre"))
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
}

// The rest of what an article can do comes with the first article.
let loading = null;

/** A key may be pressed before it is there, so what needs it waits. */
export function loadReading() {
  loading ??= import("./reading.js").catch(() => (loading = null)); // without a network, the text can still be read
  return loading;
}

async function prepare(read) {
  makeFocusable(read);
  const reading = await loadReading();
  if (read.isConnected) reading?.prepare(read);
}

document.addEventListener("reedbed:article", (event) => prepare(event.detail));
document.addEventListener("htmx:afterSwap", (event) => {
  const read = event.detail.target.id === "article" && event.detail.target.querySelector(".read");
  if (read) document.dispatchEvent(new CustomEvent("reedbed:article", { detail: read }));
});
