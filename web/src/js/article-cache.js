// Articles that are fetched and parsed ahead, so that a key press only puts one into the page.
import { part } from "./requests.js";

const AT_MOST = 12;
const texts = new Map(); // address: the promise of its markup
const parsed = new Map(); // address: that markup as nodes, to be used once
let shown = "";

/** The nodes of the article at this address, the caller's own. */
export async function articleNodes(url) {
  const ready = parsed.get(url);
  parsed.delete(url);
  shown = url;
  return ready ?? parse(await textOf(url));
}

/** Fetch and parse an article ahead of time. */
export async function prefetch(url) {
  if (navigator.connection?.saveData || parsed.has(url)) return;
  const html = await textOf(url).catch(() => null); // Opening it reports the error.
  if (html !== null && texts.has(url) && url !== shown) parsed.set(url, parse(html));
}

/** Drop an article that has changed. */
export function forget(url) {
  texts.delete(url);
  parsed.delete(url);
}

export function clearCache() {
  texts.clear();
  parsed.clear();
}

function textOf(url) {
  if (!texts.has(url)) keep(url, part(url, "article"));
  return texts.get(url);
}

function keep(url, text) {
  texts.set(url, text);
  text.catch(() => forget(url));
  if (texts.size > AT_MOST) forget(texts.keys().next().value);
}

// The content of a template is no page yet: nothing in it is loaded.
function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}
