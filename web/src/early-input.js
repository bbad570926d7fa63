// Loaded before the page is shown: holds clicks and keys until app.js has run, then repeats them. Otherwise "Delete"
// would not ask first, and buttons that only app.js knows would do nothing. DOMContentLoaded fires after app.js has
// run, and also when it could not be loaded: the forms work alone then.
{
  const PATIENCE = 10_000;
  const PRESSED = "button, a:is([data-act], [data-status], [hx-get])";
  const FIELDS = "input, select, textarea, [contenteditable]";
  const FOLLOW = ["Enter", "Escape", "Backspace", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];
  const SEEN_TWICE = ["pointerdown", "pointermove", "pointerup", "touchstart", "touchend"];
  const repeat = {
    click: ({ target }) => (target.closest("button, a") ?? target).click(),
    submit: ({ target, submitter }) => target.requestSubmit(submitter),
    change: ({ target }) => target.dispatchEvent(new Event("change", { bubbles: true })),
    input: ({ target }) => target.dispatchEvent(new Event("input", { bubbles: true })),
    keydown: press,
    contextmenu: (event) => event.target.dispatchEvent(new MouseEvent("contextmenu", event)),
    pointerdown: point,
    pointermove: point,
    pointerup: point,
    touchstart: touch,
    touchend: touch,
  };

  /** Hold the events for which `isHeld[type]` is true, and the keys after a held one; what is returned repeats them,
   *  and says how many there were. */
  window.holdInput = (isHeld) => {
    const held = [];
    const hold = (event) => {
      if (!isHeld[event.type](event) && !follows(event, held)) return;
      held.push(event);
      if (SEEN_TWICE.includes(event.type)) return;
      event.stopImmediatePropagation();
      event.preventDefault();
    };
    const options = (type) => ({ capture: true, passive: SEEN_TWICE.includes(type) });
    for (const type of Object.keys(isHeld)) addEventListener(type, hold, options(type));
    return () => {
      for (const type of Object.keys(isHeld)) removeEventListener(type, hold, options(type));
      for (const event of held) if (event.target.isConnected) repeat[event.type](event);
      return held.length;
    };
  };

  function follows(event, held) {
    if (event.type !== "keydown" || !held.some(({ type }) => type === "keydown")) return false;
    return isPlain(event) && (event.key?.length === 1 || FOLLOW.includes(event.key));
  }

  function isPlain({ target, ctrlKey, metaKey, altKey }) {
    return !ctrlKey && !metaKey && !altKey && !target.closest?.(FIELDS);
  }

  // A key that is repeated writes nothing by itself.
  function press(event) {
    const focused = document.activeElement ?? document.body;
    const writes = event.key?.length === 1 && isPlain(event) && focused.setRangeText;
    if (!focused.dispatchEvent(new KeyboardEvent("keydown", event)) || !writes || focused === event.target) return;
    focused.setRangeText(event.key, focused.selectionStart, focused.selectionEnd, "end");
    focused.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function point(event) {
    event.target.dispatchEvent(new PointerEvent(event.type, event));
  }

  function touch({ type, target, touches, changedTouches }) {
    const fingers = { touches: [...touches], changedTouches: [...changedTouches] };
    target.dispatchEvent(new TouchEvent(type, { ...fingers, bubbles: true, cancelable: true }));
  }

  const opensPalette = ({ key, ctrlKey, metaKey }) => key.toLowerCase() === "k" && (ctrlKey || metaKey);
  const release = window.holdInput({
    click: ({ isTrusted, target }) => isTrusted && target.closest?.(PRESSED),
    submit: ({ isTrusted }) => isTrusted,
    change: ({ isTrusted }) => isTrusted,
    input: ({ isTrusted }) => isTrusted,
    keydown: (event) => opensPalette(event) || (event.key.length === 1 && event.key !== " " && isPlain(event)),
  });
  const end = () => {
    clearTimeout(timer);
    removeEventListener("DOMContentLoaded", end);
    release();
  };

  // Where app.js is very late or cannot be loaded, the browser asks what the page would have asked.
  const ask = (event) => {
    const { ask: question } = event.target.dataset;
    if (document.body.dataset.asks || !question || confirm(question)) return;
    event.stopImmediatePropagation();
    event.preventDefault();
  };

  addEventListener("submit", ask, true);
  addEventListener("DOMContentLoaded", end); // on the window: htmx listens on the document, so it comes first
  const timer = setTimeout(end, PATIENCE);
}
