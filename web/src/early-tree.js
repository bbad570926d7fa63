// Where the sidebar has many feeds, a page brings only their counts. Their lines are those of the page before, if
// nothing about them has changed since; tree.js keeps them in the browser, and asks the server for them otherwise. This
// script is no module, so that they stand there before the page is painted.
{
  const place = document.getElementById("tree-feeds");
  const kept = JSON.parse(localStorage.getItem("reedbed:feeds") ?? "{}");

  if (kept.key === place.dataset.key) {
    place.innerHTML = kept.lines;
    const { counts, folded, here } = place.dataset;
    const numbers = counts.split(" ");
    for (const [at, count] of place.querySelectorAll("[data-count]").entries()) showCount(count, numbers[at] ?? "0");
    const closed = folded.split(" ");
    for (const details of place.querySelectorAll("details")) details.open = !closed.includes(details.dataset.folder);
    place.querySelector("[aria-current]")?.removeAttribute("aria-current");
    place.querySelector(`.line > a[href="${CSS.escape(here)}"]`)?.setAttribute("aria-current", "page");
    delete place.dataset.waits;
  }

  /** "12", or "2.6k:2612" with the exact number. */
  function showCount(count, text) {
    const [short, exact] = text.split(":");
    count.textContent = short === "0" ? "" : short;
    if (exact) Object.assign(count.dataset, { exact }), (count.title = exact.replace(/\B(?=(\d{3})+$)/g, "\u202F"));
    else delete count.dataset.exact, count.removeAttribute("title");
  }
}
