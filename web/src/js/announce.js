const polite = document.getElementById("polite");

// The same sentence twice is heard twice only when it was away between.
export function announce(text) {
  if (!polite || !text) return;
  if (polite.textContent !== text) polite.textContent = text;
  else {
    polite.textContent = "";
    setTimeout(() => (polite.textContent = text), 50);
  }
}
