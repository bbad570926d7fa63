// Hints that appear once on a device, when a user does by hand what there is a quicker way for.
import { storedMap } from "./stored-map.js";
import { showToast, toastIsShown } from "./toast.js";
import { translate } from "./i18n.js";

const OFTEN = 5;
const uses = storedMap("hints", 10);
const byFinger = matchMedia("(pointer: coarse)").matches;

/** After a few times the hint appears; not for those who know the quicker way already. */
function note(hint, text) {
  const times = (uses.get(hint) ?? 0) + 1;
  if (times > OFTEN || (times === OFTEN && toastIsShown())) return;
  uses.set(hint, times);
  if (times === OFTEN) showToast(translate(text));
}

document.addEventListener("click", (event) => {
  if (!event.isTrusted || event.detail === 0) return; // a key
  if (event.target.closest(".row h3 a")) note(byFinger ? "swipe" : "keys", byFinger ? "hintSwipe" : "hintKeys");
  else if (!byFinger && event.target.closest("#tree .line > a:first-child")) note("menu", "hintMenu");
});
document.addEventListener("keydown", ({ key }) => {
  if ((key === "j" || key === "k") && (uses.get("keys") ?? 0) < OFTEN) uses.set("keys", OFTEN);
});
document.addEventListener("contextmenu", ({ target }) => {
  if (target.closest("#tree")) uses.set("menu", OFTEN);
});
document.addEventListener("reedbed:swiped", () => uses.set("swipe", OFTEN));
