// The card of a feed that fails: what happened, since when, and the one act that helps.
import { explain, part } from "./requests.js";
import { focusLink } from "./tree.js";

const tree = document.getElementById("tree");
let card = null;
tree?.addEventListener("click", async (event) => {
  const mark = event.target.closest("a.mark");
  if (!mark || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  try {
    showCard(mark, await part(mark.getAttribute("href"), "trouble"));
  } catch (error) {
    explain(error);
  }
});

function showCard(mark, html) {
  closeCard();
  card = new DOMParser().parseFromString(html, "text/html").querySelector(".card-pop");
  if (!card) return location.assign(mark.href);
  document.body.append(card);
  const box = mark.getBoundingClientRect();
  card.style.left = `${Math.max(8, Math.min(box.right + 8, innerWidth - card.offsetWidth - 8))}px`;
  card.style.top = `${Math.max(8, Math.min(box.top - 12, innerHeight - card.offsetHeight - 8))}px`;
  card.opener = mark;
  card.focus();
}

function closeCard() {
  if (!card) return;
  const { opener } = card;
  const inside = card.contains(document.activeElement);
  card.remove();
  card = null;
  if (inside) focusLink(opener.getAttribute("href")); // the tree may have been renewed meanwhile
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !card) return;
  event.stopPropagation();
  closeCard();
}, true);
document.addEventListener("pointerdown", ({ target }) => card && !card.contains(target) && closeCard());
document.addEventListener("focusin", ({ target }) => {
  if (card && !card.contains(target) && target !== card.opener) closeCard();
});
