// Sections of the list that are far from the window are detached: with ten thousand rows in the page every key
// would be slow. Their height stays, and their rows can still be found, walked and marked.
const FEW = 12; // A short list stays whole, for the browser's own search.
const MARGIN = "3000px 0px";

const contents = new Map(); // section: its rows while it is detached
const homes = new WeakMap(); // and back
const rows = new Map(); // id: detached row
const near = new Set();
let observer = null;

/** The row of this entry, in the page or detached. */
export function findRow(id) {
  return document.getElementById(`e${id}`) ?? rows.get(`e${id}`) ?? null;
}

export function sectionOf(row) {
  return homes.get(row.getRootNode()) ?? row.closest(".day-rows");
}

export function rowsIn(section) {
  return (contents.get(section) ?? section).querySelectorAll(".row");
}

/** Put the section of this row into the page, so that the row can be seen and have the focus. */
export function restore(row) {
  attach(sectionOf(row));
}

/** Observe the sections that have been loaded. */
export function watchSections() {
  const sections = document.querySelectorAll("#rows > .day-rows");
  observer ??= new IntersectionObserver(onIntersect, {
    root: document.getElementById("list-body"),
    rootMargin: MARGIN,
  });
  for (const section of sections) observer.observe(section);
}

function onIntersect(changes) {
  for (const { target, isIntersecting } of changes) {
    if (isIntersecting) attach(target);
    near[isIntersecting ? "add" : "delete"](target);
  }
  const shown = document.getElementById("list-body")?.clientHeight; // Not while a phone shows the article.
  if (shown) detachFar([...document.querySelectorAll("#rows > .day-rows")]);
}

function detachFar(sections) {
  if (sections.length <= FEW) return;
  const far = sections.filter((one) => !near.has(one) && !contents.has(one) && !isInUse(one));
  const heights = far.map((one) => one.getBoundingClientRect().height); // All measured before the first goes.
  far.forEach((one, place) => detach(one, heights[place]));
}

/** The open entry, and the row that Tab reaches. */
function isInUse(section) {
  return section.querySelector(".row:is([data-current], :focus-within), .row h3 a[tabindex='0']");
}

function detach(section, height) {
  const detached = document.createDocumentFragment();
  section.style.height = `${height}px`;
  detached.append(...section.childNodes);
  contents.set(section, detached);
  homes.set(detached, section);
  for (const row of detached.querySelectorAll(".row")) rows.set(row.id, row);
}

function attach(section) {
  const detached = contents.get(section);
  if (!detached) return;
  for (const row of detached.querySelectorAll(".row")) rows.delete(row.id);
  contents.delete(section);
  section.append(detached);
  section.style.height = "";
}

document.addEventListener("reedbed:list", () => {
  observer?.disconnect();
  observer = null;
  for (const known of [contents, rows, near]) known.clear();
  watchSections();
});
watchSections();
