// htmx is nearly half of all scripts, and a list needs none of it: it is loaded when an element that uses it appears.
const USES = "[hx-get], [hx-post], [hx-put], [hx-patch], [hx-delete]";
let library = null;
let ready = false;

/** Let htmx take care of what was put into the page. */
export async function process(root) {
  if (root.matches?.(USES) || root.querySelector(USES)) (await load()).process(root);
}

/** Elements wait for this event with `hx-trigger="… from:body"`. */
export function trigger(name) {
  document.body.dispatchEvent(new CustomEvent(name, { bubbles: true }));
}

function load() {
  return (library ??= import("./htmx-library.js").then(start));
}

// After DOMContentLoaded htmx would not start by itself.
function start({ default: htmx }) {
  Object.assign(htmx.config, JSON.parse(document.querySelector("meta[name=htmx-config]").content));
  htmx.process(document.body);
  ready = true;
  return htmx;
}

// Who is quicker than the library waits for it.
document.addEventListener("submit", (event) => {
  const { target, submitter } = event;
  if (!ready && target.matches(USES)) wait(event, () => target.requestSubmit(submitter));
}, true);
document.addEventListener("click", (event) => {
  const link = event.target.closest(`a:is(${USES})`);
  if (!ready && link && !event.ctrlKey && !event.metaKey && !event.shiftKey) wait(event, () => link.click());
}, true);

function wait(event, act) {
  event.preventDefault();
  event.stopImmediatePropagation();
  load().then(act, () => (library = null));
}

if (document.querySelector(USES)) load();
