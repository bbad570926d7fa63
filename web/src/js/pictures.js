// Images of an article open large, also by keyboard.
import { translate } from "./i18n.js";

const SMALL = 160;
const lightbox = document.getElementById("lightbox");

/** Let the images of this article be enlarged. */
export function preparePictures(read) {
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

if (lightbox) {
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
