// What is shown on demand is not on every page: the menus of the sidebar, the lines of the palette, the table of keys.
import { part } from "./requests.js";

const VERSION = 1; // changes with what scripts expect there, as the answer is kept for some minutes
export const TEMPLATES = `/sidebar/templates?language=${document.documentElement.lang}&v=${VERSION}`;
let templates = null;
let loading = null;

/** The document with the templates. */
export function loadTemplates() {
  return (loading ??= load().catch((error) => {
    loading = null;
    throw error;
  }));
}

export function loadedTemplates() {
  return templates;
}

async function load() {
  const html = await part(TEMPLATES, "templates");
  return (templates = new DOMParser().parseFromString(html, "text/html"));
}

// With the first key or press, so that they are there when they are wanted, also if the network is gone by then.
if (document.body.dataset.live)
  for (const begin of ["keydown", "pointerdown"])
    addEventListener(begin, () => loadTemplates().catch(() => {}), { once: true, passive: true });
