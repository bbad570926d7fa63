// Feeds and folders are dragged into folders: by mouse after 4 px, by a finger after a long press, by key with Alt.
// With Ctrl (or Cmd) held down, a feed is put into the folder and stays in its others.
import { announce } from "./announce.js";
import { menuIsOpen } from "./dom.js";
import { closeMenu } from "./menu-panel.js";
import { explain } from "./requests.js";
import { dismiss, showToast } from "./toast.js";
import { loadTemplates } from "./templates.js";
import { fileFeed, moveLine } from "./tree-acts.js";
import { folderAround, isFolder, lineOf, linkOf, nameOf, treeText } from "./tree-lines.js";

const SLIP = 4;
const OPENS_AFTER = 600;
const EDGE = 32; // so near an edge the tree scrolls
const tree = document.getElementById("tree");
let start = null; // {line, x, y} until the line lifts
let lifted = null; // {line, ghost, target, opens}

tree?.addEventListener("pointerdown", (event) => {
  const line = lineOf(event.target);
  const takes = line && event.button === 0 && event.target.closest(".line > a:first-child");
  if (takes && event.pointerType === "mouse") start = { line, x: event.clientX, y: event.clientY };
});

document.addEventListener("pointermove", (event) => {
  if (event.pointerType !== "mouse") return;
  if (start && Math.hypot(event.clientX - start.x, event.clientY - start.y) >= SLIP) lift(start.line);
  if (lifted) follow(event.clientX, event.clientY, event.ctrlKey || event.metaKey);
});
document.addEventListener("pointerup", ({ pointerType }) => {
  start = null;
  if (lifted && pointerType === "mouse") drop();
});

// A finger: the long press has opened the menu; moving on closes it and lifts the line.
let touched = null;
tree?.addEventListener("touchstart", ({ target, touches }) => {
  touched = touches.length === 1 ? { line: lineOf(target), y: touches[0].clientY } : null;
}, { passive: true });
tree?.addEventListener("touchmove", (event) => {
  const { clientX, clientY } = event.touches[0];
  if (!lifted && touched?.line && menuIsOpen() && Math.abs(clientY - touched.y) > SLIP) {
    closeMenu({ focus: false });
    lift(touched.line);
  }
  if (!lifted) return;
  event.preventDefault();
  follow(clientX, clientY);
}, { passive: false });
tree?.addEventListener("touchend", (event) => {
  if (!lifted) return;
  event.preventDefault();
  drop();
});
tree?.addEventListener("touchcancel", putBack);

async function lift(line) {
  start = null;
  const ghost = document.createElement("div");
  ghost.className = "ghost";
  ghost.setAttribute("aria-hidden", "true");
  ghost.append(linkOf(line).firstElementChild.cloneNode(true), nameOf(line));
  lifted = { line, ghost, target: undefined, opens: 0, adds: false };
  line.classList.add("lifted");
  document.body.append(ghost);
  document.documentElement.dataset.dragging = "";
  await loadTemplates().catch(() => {});
  if (!lifted) return;
  const { target } = lifted;
  lifted.target = undefined;
  aim(target); // now that the texts are there
}

function follow(x, y, adds = false) {
  const target = placeAt(x, y);
  adds &&= Boolean(target) && !isFolder(lifted.line);
  if (adds !== lifted.adds) Object.assign(lifted, { adds, target: undefined });
  lifted.ghost.style.translate = `${x + 12}px ${y - 12}px`;
  const box = tree.getBoundingClientRect();
  if (y < box.top + EDGE) tree.scrollBy(0, -8);
  else if (y > box.bottom - EDGE) tree.scrollBy(0, 8);
  aim(target);
}

/** The folder under the pointer, null outside of all folders, undefined where nothing can be dropped. */
function placeAt(x, y) {
  const under = document.elementFromPoint(x, y);
  const line = under && lineOf(under);
  if (!line) return under?.closest("#feeds-heading") ? null : undefined;
  const folder = isFolder(line) ? line : folderAround(line);
  return folder && lifted.line.contains(folder) ? undefined : folder;
}

function aim(folder) {
  if (folder === lifted.target) return;
  clearTimeout(lifted.opens);
  lifted.target?.classList.remove("over");
  lifted.target = folder;
  folder?.classList.add("over");
  const details = folder?.querySelector(":scope > details:not([open])");
  if (details) lifted.opens = setTimeout(() => (details.open = true), OPENS_AFTER);
  if (folder === undefined || folder === folderAround(lifted.line)) return dismiss();
  const what = !folder ? "dropOut" : lifted.adds ? "dropAlso" : "dropIn";
  showToast(treeText(what, { name: nameOf(lifted.line), folder: folder && nameOf(folder) }));
}

function drop() {
  const { line, target, adds } = lifted;
  putBack();
  if (target === undefined) return;
  const id = target?.dataset.id ?? null;
  const file = adds ? fileFeed : moveLine;
  file(line, id).catch((error) => explain(error, () => file(line, id)));
  addEventListener("click", (event) => event.preventDefault(), { capture: true, once: true });
  setTimeout(() => dispatchEvent(new Event("click")));
}

function putBack() {
  if (!lifted) return;
  clearTimeout(lifted.opens);
  lifted.ghost.remove();
  lifted.line.classList.remove("lifted");
  lifted.target?.classList.remove("over");
  lifted = null;
  delete document.documentElement.dataset.dragging;
  dismiss();
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !lifted) return;
  event.stopPropagation();
  putBack();
  announce(treeText("putBack"));
}, true);

// Alt and the arrows: right into the folder above, left out of its own, up and down from folder to folder.
tree?.addEventListener("keydown", async (event) => {
  const line = lineOf(event.target);
  if (!line || !event.altKey || event.ctrlKey || event.metaKey || !STEPS[event.key]) return;
  event.preventDefault();
  event.stopPropagation();
  await loadTemplates();
  const folder = STEPS[event.key](line);
  if (folder === undefined) return;
  const href = linkOf(line).getAttribute("href");
  await moveLine(line, folder?.dataset.id ?? null).catch(explain);
  tree.querySelector(`a[href="${href}"]`)?.focus();
});

const STEPS = {
  ArrowUp: (line) => neighbour(line, -1),
  ArrowDown: (line) => neighbour(line, 1),
  ArrowLeft: (line) => (folderAround(line) ? folderAround(folderAround(line)) : undefined),
  ArrowRight: (line) => {
    const before = line.previousElementSibling;
    return before && isFolder(before) ? before : undefined;
  },
};

/** The next folder in the order of the tree; above the first and below the last there is none: out of all. */
function neighbour(line, by) {
  const folders = [...tree.querySelectorAll(".folder")].filter((folder) => !line.contains(folder));
  const own = folderAround(line);
  const at = own ? folders.indexOf(own) : by > 0 ? -1 : folders.length;
  if (!folders.length) return undefined;
  return folders[at + by] ?? (own ? null : undefined);
}
