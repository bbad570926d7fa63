// Menus of the sidebar and of its heading: by right click, by a finger that rests, by the button on a line, by key.
import { announce } from "./announce.js";
import { markMany } from "./bulk.js";
import { menuIsOpen, tick } from "./dom.js";
import { locale } from "./i18n.js";
import { bindKeys } from "./keyboard.js";
import { openMenu } from "./menu-panel.js";
import { savePreference } from "./preferences.js";
import { explain, json } from "./requests.js";
import { loadTemplates, loadedTemplates } from "./templates.js";
import { refreshTree } from "./tree.js";
import { newFolder, rename, runTreeAct } from "./tree-acts.js";
import { addressOf, folderAround, isFolder, lineOf, linkOf, nameOf, treeCount, treeText } from "./tree-lines.js";

const LONG_PRESS = 450;
const SLIP = 10; // so far a finger may move while it presses
const tree = document.getElementById("tree");

for (const begin of ["pointerenter", "focusin", "touchstart"])
  tree?.addEventListener(begin, () => loadTemplates().catch(() => {}), { once: true, passive: true });

const dots = document.createElement("button");
dots.className = "icon-btn line-menu";
dots.type = "button";
dots.setAttribute("aria-haspopup", "menu");
dots.setAttribute("aria-expanded", "false");
dots.innerHTML = `<svg class="icon" aria-hidden="true"><use href="${document.body.dataset.icons}#more"/></svg>`;

async function offerDots(line) {
  if (!line || dots.parentElement === line || line.querySelector(":scope > input") || menuIsOpen()) return;
  await loadTemplates().catch(() => {});
  dots.setAttribute("aria-label", treeText("menu", { name: nameOf(line) }));
  linkOf(line).after(dots);
}

tree?.addEventListener("pointerover", ({ target, pointerType }) => {
  if (pointerType === "mouse" && !tree.querySelector(".lifted")) offerDots(lineOf(target));
});
tree?.addEventListener("pointerleave", () => {
  if (document.activeElement !== dots && !menuIsOpen()) dots.remove();
});
tree?.addEventListener("focusin", ({ target }) => target !== dots && offerDots(lineOf(target)));
const active = tree?.querySelector("a:focus, .line:hover > a"); // before this was there
if (active) offerDots(lineOf(active));
dots.addEventListener("click", () => showMenu(lineOf(dots), { opener: dots }));

tree?.addEventListener("contextmenu", (event) => {
  const line = lineOf(event.target);
  if (!line || event.shiftKey) return;
  event.preventDefault();
  if (!menuIsOpen()) showMenu(line, { at: event.button === 2 ? { x: event.clientX, y: event.clientY } : undefined });
});

tree?.addEventListener("keydown", (event) => {
  const line = lineOf(event.target);
  if (event.target.closest("#feeds-menu-button") || !line || event.target.matches("input")) return;
  if (event.altKey) return;
  const opens = event.key === "." || event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);
  if (opens && !event.ctrlKey && !event.metaKey) showMenu(line, {});
  else if (event.key === "F2") rename(line);
  else return;
  event.preventDefault();
  event.stopPropagation();
});

async function showMenu(line, { opener = linkOf(line), at }) {
  try {
    await loadTemplates();
    const panel = template(isFolder(line) ? "folder-menu" : "feed-menu");
    describe(panel, line);
    openMenu(panel, { opener, at, choose: (act) => runTreeAct(act, line) });
    if (!isFolder(line)) addFacts(panel, await json(addressOf(line)));
  } catch (error) {
    explain(error, () => showMenu(line, { opener, at }));
  }
}

function template(id) {
  return loadedTemplates().getElementById(id).content.firstElementChild.cloneNode(true);
}

function describe(panel, line) {
  const unread = countOf(line);
  panel.setAttribute("aria-label", nameOf(line));
  panel.querySelector("strong").textContent = nameOf(line);
  panel.querySelector("[data-icon]").replaceWith(linkOf(line).firstElementChild.cloneNode(true));
  const feeds = isFolder(line) && line.querySelectorAll(".line:not(.folder)").length;
  const facts = [feeds && treeCount("feeds", feeds)];
  facts.push(treeCount("unread", unread));
  panel.querySelector("[data-facts]").textContent = facts.filter(Boolean).join(" · ");
  const muted = isFolder(line) ? line.querySelector("[data-muted]") : line.matches("[data-muted]");
  if (!muted) panel.querySelector('[data-do="mute:none"]').remove();
  else if (!isFolder(line)) panel.querySelector("[data-opens=mute]").remove();
  panel.querySelector('template[data-of="folders"]').content.firstElementChild.append(...folderLines(panel, line));
  check(panel, "folders", `move:${folderAround(line)?.dataset.id ?? ""}`);
  if (!isFolder(line)) offerMoreFolders(panel, line);
  panel.querySelector(`[data-do="unread:${"apart" in line.dataset ? "false" : "true"}"]`).remove();
  check(panel, "display", `display:${line.dataset.display ?? "number"}`);
  hint(panel, "display");
}

function countOf(line) {
  const count = linkOf(line).querySelector(".count");
  return Number(count?.dataset.exact ?? count?.textContent) || 0;
}

/** Where a line may go: every folder but itself and those inside it. */
function folderLines(panel, line) {
  const shape = panel.querySelector('template[data-of="folders"]').content.querySelector(".mi");
  return [...tree.querySelectorAll(".folder")]
    .filter((folder) => folder !== line && !line.contains(folder))
    .map((folder) => {
      const copy = shape.cloneNode(true);
      copy.dataset.do = `move:${folder.dataset.id}`;
      copy.querySelector("use").setAttribute("href", `${document.body.dataset.icons}#folder`);
      copy.querySelector("span").textContent = nameOf(folder);
      return copy;
    });
}

/** Every folder with a mark where the feed stands. It is moved by the other submenu, so one folder is not enough. */
function offerMoreFolders(panel, line) {
  const inside = foldersOfFeed(line);
  const content = panel.querySelector('template[data-of="more-folders"]').content.firstElementChild;
  const shape = content.querySelector(".mi");
  const lines = folderLines(panel, line).map((copy) => {
    const id = copy.dataset.do.split(":")[1];
    copy.dataset.do = `file:${id}`;
    copy.setAttribute("role", "menuitemcheckbox");
    copy.setAttribute("aria-checked", String(inside.includes(id)));
    return copy;
  });
  shape.remove();
  content.append(...lines);
  panel.querySelector("[data-opens=more-folders]").disabled = !lines.length;
}

/** The ids of the folders in which the sidebar shows a feed. */
function foldersOfFeed(line) {
  const links = tree.querySelectorAll(`a[href="${CSS.escape(linkOf(line).getAttribute("href"))}"]`);
  return [...links].map((link) => folderAround(lineOf(link))?.dataset.id).filter(Boolean);
}

function check(panel, of, act) {
  const content = panel.querySelector(`template[data-of="${of}"]`)?.content;
  content?.querySelector(`[data-do="${act}"]`)?.setAttribute("aria-checked", "true");
}

/** What is chosen in a submenu stands beside the line that opens it. */
function hint(panel, of) {
  const chosen = panel.querySelector(`template[data-of="${of}"]`)?.content.querySelector("[aria-checked=true] span");
  if (!chosen) return;
  const label = Object.assign(document.createElement("span"), { className: "hint", textContent: chosen.textContent });
  panel.querySelector(`[data-opens="${of}"] > .end`).before(label);
}

function addFacts(panel, { feed, unread_count }) {
  const at = feed.fetch_state.last_checked_at;
  const when = at && new Date(at).toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit" });
  const facts = [treeCount("unread", unread_count), when && treeText("checked", { when })];
  panel.querySelector("[data-facts]").textContent = facts.filter(Boolean).join(" · ");
  panel.querySelector("[data-do=site]").disabled = !feed.site_url;
}

// --- The heading of the feeds

const ALL_ACTS = {
  read: () => markMany({ view: "all" }),
  check: () => document.querySelector('form[action="/refresh"] button')?.click(),
  add: () => newFolder(null),
  order: () => orderByUnread(),
  hide: () => hideRead(),
  settings: () => location.assign("/feeds"),
};

tree?.addEventListener("click", async ({ target }) => {
  const button = target.closest("#feeds-menu-button");
  if (target.closest("#hide-read")) return hideRead(!("hideRead" in tree.dataset));
  if (!button) return;
  await loadTemplates();
  const panel = template("feeds-menu");
  for (const [act, set] of [["order", "byUnread"], ["hide", "hideRead"]])
    panel.querySelector(`[data-do=${act}]`).setAttribute("aria-checked", String(set in tree.dataset));
  openMenu(panel, { opener: button, choose: (act) => ALL_ACTS[act]() });
});

bindKeys({ H: () => hideRead(), U: () => orderByUnread() });

async function hideRead(hidden = !("hideRead" in tree.dataset)) {
  tree.toggleAttribute("data-hide-read", hidden);
  document.getElementById("hide-read")?.setAttribute("aria-pressed", String(hidden));
  savePreference("hide_read", hidden ? "1" : "");
  await loadTemplates().catch(() => {});
  announce(treeText(hidden ? "hidden" : "shown"));
}

/** What has the most unread entries first, or the order of names and of folders as arranged. */
async function orderByUnread(chosen = !("byUnread" in tree.dataset)) {
  tree.toggleAttribute("data-by-unread", chosen);
  savePreference("by_unread", chosen ? "1" : "");
  await loadTemplates().catch(() => {});
  await refreshTree();
  announce(treeText(chosen ? "byUnread" : "byName"));
}

// --- A finger that rests opens the menu; when it then moves, it drags (tree-drag.js)

let press = null;
tree?.addEventListener(
  "touchstart",
  (event) => {
    const line = lineOf(event.target);
    clearTimeout(press?.timer);
    press = null;
    if (!line || event.touches.length !== 1 || event.target.closest("summary, input, button")) return;
    const { clientX: x, clientY: y } = event.touches[0];
    press = { x, y, timer: setTimeout(() => (tick(), showMenu(line, {})), LONG_PRESS) };
  },
  { passive: true },
);
tree?.addEventListener(
  "touchmove",
  ({ touches: [{ clientX, clientY }] }) => {
    if (press && Math.hypot(clientX - press.x, clientY - press.y) > SLIP) clearTimeout(press.timer);
  },
  { passive: true },
);
tree?.addEventListener("touchend", (event) => {
  clearTimeout(press?.timer);
  if (press && menuIsOpen()) event.preventDefault(); // else the finger would follow the link
  press = null;
});
