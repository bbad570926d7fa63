/** What nobody waits for is done when the frame has been painted; a hidden page paints none. */
export function afterPaint(act) {
  if (document.hidden) act();
  else requestAnimationFrame(() => setTimeout(act));
}
