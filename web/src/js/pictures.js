// Pictures: those of an article open large, also by keyboard; those of the list may be missing.
import { say } from "./words.js";

const SMALL = 160;
const lightbox = document.getElementById("lightbox");

function offer(read) {
  for (const picture of read.querySelectorAll(".prose img")) {
    // The attribute, not the box: asking for the box would lay the page out before it is painted.
    const width = Number(picture.getAttribute("width"));
    if (picture.closest("a, button") || (width && width < SMALL)) continue;
    picture.tabIndex = 0;
    picture.role = "button";
    picture.ariaLabel = picture.alt || say("picture");
  }
}

function enlarge(picture) {
  const large = lightbox.querySelector("img");
  large.src = picture.currentSrc || picture.src;
  large.alt = picture.alt;
  lightbox.querySelector("p").textContent =
    picture.closest("figure")?.querySelector("figcaption")?.textContent ?? picture.alt;
  lightbox.showModal();
}

const LISTED = ".row img:not(.fav)";

// A picture that cannot be had leaves no empty frame in the list.
function takeAway(picture) {
  picture.closest(".row").removeAttribute("data-pictured");
  picture.remove();
}

// Errors of pictures are only heard on the way down, and not at all before this script is there.
document.addEventListener("error", ({ target }) => target.matches?.(LISTED) && takeAway(target), true);
for (const picture of document.querySelectorAll(LISTED))
  if (picture.complete && picture.currentSrc && !picture.naturalWidth) takeAway(picture);

if (lightbox) {
  document.addEventListener("reedbed:article", (event) => offer(event.detail));
  document.addEventListener("click", (event) => {
    const picture = event.target.closest(".prose img[role=button]");
    if (picture) enlarge(picture);
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.matches?.(".prose img[role=button]") && ["Enter", " "].includes(event.key)) {
      event.preventDefault();
      enlarge(event.target);
    }
  });
}
