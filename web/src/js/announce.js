const polite = document.getElementById("polite");
let again = 0;

// The same sentence twice is heard twice only when it was away between.
export function announce(text) {
  if (!polite || !text) return;
  clearTimeout(again);
  if (polite.textContent !== text) polite.textContent = text;
  else {
    polite.textContent = "";
    again = setTimeout(() => (polite.textContent = text), 50);
  }
}
