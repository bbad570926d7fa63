// Focus: the article has the whole window.
const app = document.getElementById("app");

export function isFocused() {
  return app?.hasAttribute("data-focus") ?? false;
}

/** Give the article the whole window, or take it back. False where nothing is open. */
export function setFocused(focused) {
  if (!app || !document.querySelector("#article .read")) return false;
  keepPlace(() => app.toggleAttribute("data-focus", focused));
  for (const button of document.querySelectorAll("[data-act=focus]")) button.ariaPressed = String(focused);
  document.dispatchEvent(new CustomEvent("reedbed:focus"));
  return true;
}

/** The line at the top of the window stays there, although the lines get another length. */
export function keepPlace(change) {
  const body = document.getElementById("article-body");
  const top = body.getBoundingClientRect().top;
  const parts = body.scrollTop ? [...body.querySelectorAll(".prose *")] : [];
  const first = parts.find((part) => part.getBoundingClientRect().top >= top);
  const before = first?.getBoundingClientRect().top;
  change();
  if (first) body.scrollTop += first.getBoundingClientRect().top - before;
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-act=focus]")) setFocused(!isFocused());
});
// The bar names the article once its heading has scrolled away.
const heading = new IntersectionObserver(([{ isIntersecting }]) =>
  document.querySelector(".focus-title")?.toggleAttribute("data-shown", !isIntersecting),
);

document.addEventListener("reedbed:article", () => {
  heading.disconnect();
  const title = document.querySelector("#article .read h1");
  if (title) heading.observe(title);
  if (isFocused()) setFocused(true); // the bar of the next article shows the same state
});
