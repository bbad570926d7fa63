// Pictures that cannot be had leave no frame; what an article can do comes with the first one.

const LISTED = ".row img:not(.fav), .pics img, .recordings img, .ep > img, .digest img";

function takeAway(image) {
  const pictures = image.closest(".pics");
  for (const mark of ["pictured", "shaped", "strip"]) image.closest(".row")?.removeAttribute(`data-${mark}`);
  (pictures ? image.closest("a") : image).remove();
  if (pictures) pictures.dataset.count = pictures.childElementCount;
  if (pictures && !pictures.childElementCount) pictures.closest("figure").remove();
}

// Errors of pictures are only seen in the capture phase, and not at all before this script is there.
document.addEventListener("error", ({ target }) => target.matches?.(LISTED) && takeAway(target), true);
for (const image of document.querySelectorAll(LISTED))
  if (image.complete && image.currentSrc && !image.naturalWidth) takeAway(image);

// Drawings get a white background once they have loaded: before, it would be a white box in the dark.
document.addEventListener("load", ({ target }) => target.matches?.(LISTED) && markLoaded(target), true);
for (const image of document.querySelectorAll(LISTED)) if (image.complete) markLoaded(image);

function markLoaded(image) {
  image.dataset.loaded = "";
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
