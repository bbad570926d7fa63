// What this browser remembers of the reader's ways: the last places, for the palette, and the last searches.
import { storedMap } from "./stored-map.js";

const KEPT = "reedbed:places";
const MOST = 6;
export const recentSearches = storedMap("recent-searches", MOST);

/** Where the reader was, the latest first: `[{href}]`. */
export function visitedPlaces() {
  return JSON.parse(localStorage.getItem(KEPT) ?? "[]");
}

const here = document.getElementById("app")?.dataset.viewUrl;
if (here && document.body.dataset.live) {
  const others = visitedPlaces().filter(({ href }) => href !== here);
  localStorage.setItem(KEPT, JSON.stringify([{ href: here }, ...others].slice(0, MOST)));
}

// The next person at this browser has other searches.
document.addEventListener("submit", ({ target }) => {
  if (target.matches('form[action="/logout"]')) recentSearches.clear();
});
