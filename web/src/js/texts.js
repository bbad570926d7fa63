// Articles fetched and parsed before they are asked for: a key then has only to put one into the page.
import { part } from "./requests.js";

const AT_MOST = 12;
const texts = new Map(); // address: the promise of its markup
const parsed = new Map(); // address: that markup as nodes, to be used once
let shown = "";

/** The nodes of the article at this address, the caller's own. */
export async function nodesOf(url) {
  const ready = parsed.get(url);
  parsed.delete(url);
  shown = url;
  return ready ?? parse(await textOf(url));
}

/** Have the nodes at hand when somebody asks. */
export async function prepare(url) {
  if (navigator.connection?.saveData || parsed.has(url)) return;
  const html = await textOf(url).catch(() => null); // Whoever asks in earnest hears of it.
  if (html !== null && texts.has(url) && url !== shown) parsed.set(url, parse(html));
}

/** What was kept is no longer true. */
export function forget(url) {
  texts.delete(url);
  parsed.delete(url);
}

export function forgetAll() {
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
