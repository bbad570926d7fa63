const polite = document.getElementById("polite");
let again = 0;

/** Have a screen reader read the text. The same text is read again only if it was removed in between. */
export function announce(text) {
  if (!polite || !text) return;
  clearTimeout(again);
  if (polite.textContent !== text) polite.textContent = text;
  else {
    polite.textContent = "";
    again = setTimeout(() => (polite.textContent = text), 50);
  }
}
