// Loaded before the page is shown: what is pressed before app.js has run is held, and done once it has. Otherwise a
// click on "Delete" would not be asked about, and a click on a button that only app.js knows would be lost.
// DOMContentLoaded comes after app.js has run, and also when it could not be loaded: the forms work alone then.
{
  const PATIENCE = 10_000;
  const PRESSED = "button, a:is([data-act], [data-status], [hx-get])";
  const FIELDS = "input, select, textarea, [contenteditable]";
  const held = [];
  const repeat = {
    click: ({ target }) => target.closest(PRESSED).click(),
    submit: ({ target, submitter }) => target.requestSubmit(submitter),
    change: ({ target }) => target.dispatchEvent(new Event("change", { bubbles: true })),
    input: ({ target }) => target.dispatchEvent(new Event("input", { bubbles: true })),
    keydown: (event) => (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", event)),
  };
  const isHeld = {
    click: ({ target }) => target.closest?.(PRESSED),
    submit: () => true,
    keydown: ({ key, target, ctrlKey, metaKey, altKey }) =>
      key.length === 1 && key !== " " && !ctrlKey && !metaKey && !altKey && !target.closest?.(FIELDS),
    change: () => true,
    input: () => true,
  };

  const hold = (event) => {
    if (!event.isTrusted || !isHeld[event.type](event)) return;
    event.stopImmediatePropagation();
    if (event.type === "click" || event.type === "submit") event.preventDefault();
    held.push(event);
  };
  const release = () => {
    clearTimeout(timer);
    removeEventListener("DOMContentLoaded", release);
    for (const type of Object.keys(repeat)) removeEventListener(type, hold, true);
    for (const event of held.splice(0)) if (event.target.isConnected) repeat[event.type](event);
  };

  // Where app.js is very late or cannot be loaded, the browser asks what the page would have asked.
  const ask = (event) => {
    const { ask: question } = event.target.dataset;
    if (document.body.dataset.asks || !question || confirm(question)) return;
    event.stopImmediatePropagation();
    event.preventDefault();
  };

  for (const type of Object.keys(repeat)) addEventListener(type, hold, true);
  addEventListener("submit", ask, true);
  addEventListener("DOMContentLoaded", release); // on the window: htmx listens on the document, so it comes first
  const timer = setTimeout(release, PATIENCE);
}
