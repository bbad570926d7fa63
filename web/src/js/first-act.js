// What nobody needs at the first paint waits for the first act on the page, or until the page has rested for a while.
const REST = 4000;
const ACTS = ["pointermove", "pointerdown", "touchstart", "keydown", "focusin"];

/** Settled with the first act on the page, or when it has rested. */
export const firstAct = new Promise((begin) => {
  for (const act of ACTS) addEventListener(act, begin, { capture: true, passive: true, once: true });
  const rest = () => setTimeout(begin, REST);
  if (document.readyState === "complete") rest();
  else addEventListener("load", rest, { once: true });
});
