// Sections far from the window are taken out of the page: with ten thousand rows in it every key would be slow.
// Their place stays, by its height, and their rows can still be found, walked and marked.
const FEW = 12; // A short list stays whole, for the browser's own search.
const MARGIN = "3000px 0px";

const contents = new Map(); // section: what it holds while it is away
const homes = new WeakMap(); // and back
const rows = new Map(); // id: row that is away
const near = new Set();
let observer = null;

/** The row of this entry, in the page or away. */
export function rowOf(id) {
  return document.getElementById(`e${id}`) ?? rows.get(`e${id}`) ?? null;
}

export function sectionOf(row) {
  return homes.get(row.getRootNode()) ?? row.closest(".day-rows");
}

export function rowsIn(section) {
  return (contents.get(section) ?? section).querySelectorAll(".row");
}

/** Put the section of this row into the page, so that the row can be seen and have the focus. */
export function bring(row) {
  unstow(sectionOf(row));
}

/** Look after the sections that have arrived. */
export function watchSections() {
  const sections = document.querySelectorAll("#rows > .day-rows");
  observer ??= new IntersectionObserver(note, {
    root: document.getElementById("list-body"),
    rootMargin: MARGIN,
  });
  for (const section of sections) observer.observe(section);
}

function note(changes) {
  for (const { target, isIntersecting } of changes) {
    if (isIntersecting) unstow(target);
    near[isIntersecting ? "add" : "delete"](target);
  }
  const shown = document.getElementById("list-body")?.clientHeight; // Not while a phone shows the article.
  if (shown) stowFar([...document.querySelectorAll("#rows > .day-rows")]);
}

function stowFar(sections) {
  if (sections.length <= FEW) return;
  const far = sections.filter((one) => !near.has(one) && !contents.has(one) && !isInUse(one));
  const heights = far.map((one) => one.getBoundingClientRect().height); // All measured before the first goes.
  far.forEach((one, place) => stow(one, heights[place]));
}

/** The open entry, and the row that Tab reaches. */
function isInUse(section) {
  return section.querySelector(".row:is([data-current], :focus-within), .row h3 a[tabindex='0']");
}

function stow(section, height) {
  const away = document.createDocumentFragment();
  section.style.height = `${height}px`;
  away.append(...section.childNodes);
  contents.set(section, away);
  homes.set(away, section);
  for (const row of away.querySelectorAll(".row")) rows.set(row.id, row);
}

function unstow(section) {
  const away = contents.get(section);
  if (!away) return;
  for (const row of away.querySelectorAll(".row")) rows.delete(row.id);
  contents.delete(section);
  section.append(away);
  section.style.height = "";
}

document.addEventListener("reedbed:list", () => {
  observer?.disconnect();
  observer = null;
  for (const known of [contents, rows, near]) known.clear();
  watchSections();
});
watchSections();
