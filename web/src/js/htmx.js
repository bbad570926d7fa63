// htmx is nearly half of all scripts, and a list needs none of it: it is loaded when an element that uses it appears.
const USES = "[hx-get], [hx-post], [hx-put], [hx-patch], [hx-delete]";
let library = null;
let ready = false;
const changed = new WeakSet();

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

// After DOMContentLoaded htmx would not start by itself. The page sets its "defaultSettleDelay" to 0 (base.html): in
// the 20 ms between swap and settling, what has just arrived would take no click.
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
  const control = event.target.closest(`:is(a, button):is(${USES})`);
  if (!ready && control && !event.ctrlKey && !event.metaKey && !event.shiftKey) wait(event, () => control.click());
}, true);
for (const type of ["input", "change"])
  document.addEventListener(type, ({ target }) => {
    const form = target.closest(`form[hx-trigger]:is(${USES})`);
    if (ready || !form || changed.has(form)) return;
    changed.add(form); // the event itself cannot be repeated: htmx takes what is in the field by then for its beginning
    load().then(() => form.requestSubmit(), () => (library = null));
  }, true);

function wait(event, act) {
  event.preventDefault();
  event.stopImmediatePropagation();
  load().then(act, () => (library = null));
}

if (document.querySelector(USES)) load();
