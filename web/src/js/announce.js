const polite = document.getElementById("polite");
const urgent = document.getElementById("urgent");

export function announce(text) {
  speak(polite, text);
}

export function alarm(text) {
  speak(urgent, text);
}

// Cleared first, so that the same sentence twice is heard twice.
function speak(region, text) {
  if (!region || !text) return;
  region.textContent = "";
  setTimeout(() => (region.textContent = text), 50);
}
