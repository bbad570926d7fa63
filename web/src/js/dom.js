// Small helpers for the document.

/** Change an element into `fresh`, touching only the nodes that differ, so that the rest is not drawn again. */
export function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName !== fresh.nodeName || old.childNodes.length !== fresh.childNodes.length)
    return void old.replaceWith(fresh);
  if (!old.attributes) return void (old.data = fresh.data);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const children = [...fresh.childNodes];
  [...old.childNodes].forEach((child, place) => morph(child, children[place]));
}

/** The range of the text of the article that is selected; null where none is. */
export function selectedText() {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  return document.getElementById("prose")?.contains(range.commonAncestorContainer) ? range : null;
}

/** Whether a menu of the sidebar stands over the page; see menu-panel.js. */
export const menuIsOpen = () => Boolean(document.querySelector("[role=menu][data-floating]"));

/** Link this style sheet, once; settled when it is there, or cannot be had. */
export function loadSheet(href) {
  const links = [...document.querySelectorAll("link[rel=stylesheet]")];
  const known = links.find((link) => link.getAttribute("href") === href);
  if (known?.sheet) return Promise.resolve();
  const link = known ?? Object.assign(document.createElement("link"), { rel: "stylesheet" });
  const settled = new Promise((done) => {
    link.addEventListener("load", done, { once: true });
    link.addEventListener("error", () => (link.remove(), done()), { once: true });
  });
  if (!known) document.head.append(Object.assign(link, { href }));
  return settled;
}

/** A short tick under the finger; browsers refuse it, with a complaint, before the page was touched. */
export function tick() {
  if (navigator.userActivation?.hasBeenActive) navigator.vibrate?.(10);
}

/** Run after the next frame is painted, or at once when the page is hidden and paints none. */
export function afterPaint(act) {
  if (document.hidden) act();
  else requestAnimationFrame(() => setTimeout(act));
}
