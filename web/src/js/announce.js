const polite = document.getElementById("polite");

// Cleared first, so that the same sentence twice is heard twice.
export function announce(text) {
  if (!polite || !text) return;
  polite.textContent = "";
  setTimeout(() => (polite.textContent = text), 50);
}
