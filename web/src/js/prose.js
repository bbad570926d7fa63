// What scrolls sideways in a text (code, tables) can be reached and scrolled by keyboard.
function reach(read) {
  for (const wide of read.querySelectorAll(".prose :is(pre, table, .scroll)"))
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
}

document.addEventListener("reedbed:article", (event) => reach(event.detail));
document.addEventListener("htmx:afterSwap", (event) => {
  const read = event.detail.target.closest?.("#article")?.querySelector(".read");
  if (read) reach(read);
});
