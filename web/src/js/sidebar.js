// The sidebar: its menus, renaming in place, hiding what is read, the cards of failing feeds, and its renewal.
import { announce } from "./announce.js";
import { refreshCounts } from "./counts.js";
import { tick } from "./dom.js";
import { openMenu, menuIsOpen } from "./menu-panel.js";
import { restoreScroll } from "./menus.js";
import { markMany } from "./bulk.js";
import { reloadList } from "./list.js";
import { savePreference } from "./preferences.js";
import { change, explain, json, part, send } from "./requests.js";
import { loadTemplates, loadedTemplates } from "./templates.js";
import { showToast } from "./toast.js";
import { fill, formOf, locale, number } from "./i18n.js";

const LONG_PRESS = 450;
const SLIP = 10; // so far a finger may move while it presses
const DAY = 86_400_000;
const tree = document.getElementById("tree");

// --- What a line is

export const lineOf = (element) => element.closest?.("#tree .line");
export const linkOf = (line) => line.querySelector(":scope > a");
export const nameOf = (line) => line.querySelector(":scope > a .name").textContent.trim();
export const isFolder = (line) => line.classList.contains("folder");
export const idOf = (line) => (isFolder(line) ? line.dataset.id : linkOf(line).pathname.split("/")[2]);
export const folderAround = (line) => line.parentElement.closest("#tree .folder");

function addressOf(line) {
  return `/api/v1/${isFolder(line) ? "folders" : "subscriptions"}/${idOf(line)}`;
}

// --- Texts of menus

export function treeText(key, values = {}) {
  return fill(treeTexts()[key] ?? "", values);
}

function treeCount(key, n) {
  return fill(formOf(treeTexts(), key, n), { n: number(n) });
}

function treeTexts() {
  return loadedTemplates()?.getElementById("tree-texts").dataset ?? {};
}

for (const begin of ["pointerenter", "focusin", "touchstart"])
  tree?.addEventListener(begin, () => loadTemplates().catch(() => {}), { once: true, passive: true });

// --- Renewal: the pane stays, and so do its scroll and the focus

// Nothing may vanish under a name that is being written, a menu or a finger.
const isBusy = () => tree.querySelector("input, .lifted") || menuIsOpen();
const LATER = 1500;
let renewals = 0;
let later = 0;

function refreshLater() {
  clearTimeout(later);
  later = setTimeout(refreshTree, LATER);
}

export async function refreshTree() {
  if (!tree) return;
  if (isBusy()) return void refreshLater();
  const renewal = ++renewals;
  const here = encodeURIComponent(document.getElementById("app").dataset.viewUrl ?? location.pathname);
  const html = await part(`/sidebar?here=${here}`, "nav").catch(() => "");
  const answer = new DOMParser().parseFromString(html, "text/html");
  const fresh = answer.getElementById("tree");
  if (!fresh || renewal !== renewals) return; // a later question has the newer answer
  if (isBusy()) return void refreshLater();
  const focused = tree.contains(document.activeElement) && document.activeElement.getAttribute("href");
  tree.replaceChildren(...fresh.children);
  keepFeeds();
  loadIcons(fresh.dataset.icons);
  document.getElementById("checked")?.replaceWith(answer.getElementById("checked"));
  if (focused) focusLink(focused);
}

const KEPT = "reedbed:feeds";

/** Many feeds are not sent with every page: early-tree.js shows those that are kept here. */
function keepFeeds() {
  const { dataset, innerHTML: lines } = document.getElementById("tree-feeds") ?? { dataset: {} };
  try {
    if (dataset.key) localStorage.setItem(KEPT, JSON.stringify({ key: dataset.key, lines }));
  } catch {
    localStorage.removeItem(KEPT); // no room: the next page asks for them
  }
}

if (!document.body.dataset.live) localStorage.removeItem(KEPT); // no user is logged in
const waits = document.querySelector("#tree-feeds[data-waits]");
if (waits)
  refreshTree().then(() => {
    // Without an answer, those that were there last.
    if (waits.isConnected) waits.innerHTML = JSON.parse(localStorage.getItem(KEPT) ?? "{}").lines ?? "";
    delete waits.dataset.waits;
    restoreScroll();
  });

/** The icons of all feeds are one style sheet, named by what it holds. */
function loadIcons(version) {
  if (!version || tree.dataset.icons === version) return;
  tree.dataset.icons = version;
  const sheet = document.getElementById("icon-sheet") ?? document.createElement("link");
  Object.assign(sheet, { id: "icon-sheet", rel: "stylesheet", href: `/icons.css?v=${version}` });
  document.body.append(sheet);
}

function focusLink(href) {
  (tree.querySelector(`a[href="${CSS.escape(href)}"]`) ?? tree).focus({ preventScroll: true });
}

// --- Menus

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
    openMenu(panel, { opener, at, choose: (act) => run(act, line) });
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

// --- What the lines of a menu do

async function run(act, line) {
  const [name, value] = act.split(":");
  try {
    await ACTS[name](line, value);
  } catch (error) {
    explain(error, () => run(act, line));
  }
}

const ACTS = {
  read: async (line) => {
    const feed = linkOf(line).querySelector("[data-count]").dataset.count.split(":")[1];
    await markMany({ view: "all", [isFolder(line) ? "folder_id" : "feed_id"]: feed });
  },
  check: async (line) => {
    await change("POST", `${addressOf(line)}/refresh`);
    showToast(treeText("checking"));
  },
  site: async (line) => {
    const { feed } = await json(addressOf(line));
    if (feed.site_url) open(feed.site_url, "_blank", "noopener,noreferrer");
    else showToast(treeText("noSite"));
  },
  rename,
  move: (line, id) => moveLine(line, id || null),
  file: (line, id) => fileFeed(line, id),
  mute: async (line, span) => {
    const until = muteEnd(span);
    if (isFolder(line)) await change("POST", `${addressOf(line)}/mute`, { until });
    else await change("PATCH", addressOf(line), { muted_until: until });
    showToast(treeText(until ? "muted" : "unmuted", { name: nameOf(line) }), undoOf(line, "mute:none", until));
    await Promise.all([refreshTree(), refreshCounts(), reloadList()]);
  },
  unread: async (line, shown) => {
    const apart = shown === "false";
    await change("PATCH", addressOf(line), { in_unread: !apart });
    const undo = undoOf(line, `unread:${apart}`);
    showToast(treeText(apart ? "apart" : "joined", { name: nameOf(line) }), undo);
    await Promise.all([refreshTree(), refreshCounts(), reloadList()]);
  },
  display: async (line, unread_display) => {
    await change("PATCH", addressOf(line), { unread_display });
    await refreshTree();
  },
  settings: (line) => location.assign(isFolder(line) ? "/folders" : `/feeds/${idOf(line)}/edit`),
  add: (line) => newFolder(line),
  digest: (line) => location.assign(`/summaries?about=folder_id%3D${idOf(line)}`),
  book: (line) => location.assign(`/books?of=folder:${idOf(line)}`),
  publish: (line) => location.assign(`/settings/published?view=folder:${idOf(line)}`),
  unsubscribe: (line) => leave(line),
  remove: async (line) => {
    const name = nameOf(line);
    await change("DELETE", addressOf(line));
    showToast(treeText("removed", { name }));
    await refreshTree();
  },
};

function undoOf(line, act, offered = true) {
  return offered ? { label: treeText("undo"), undoes: true, act: () => run(act, line) } : undefined;
}

function muteEnd(span) {
  const now = new Date();
  if (span === "none") return null;
  if (span === "forever") return "9999-01-01T00:00:00Z";
  if (span !== "tomorrow") return new Date(now.getTime() + (span === "week" ? 7 : 3) * DAY).toISOString();
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, 7).toISOString();
}

/** Into the folder with this id, or out of the one around the line; the toast takes it back. */
export async function moveLine(line, id) {
  const before = folderAround(line)?.dataset.id ?? null;
  if (before === id) return;
  const text = treeText(id ? "movedTo" : "movedOut", { name: nameOf(line), folder: id && folderName(id) });
  if (isFolder(line)) return place(line, text, { parent_id: id }, { parent_id: before });
  const { folder_ids } = await json(addressOf(line));
  const moved = before ? folder_ids.map((one) => (one === before ? id : one)) : [...folder_ids, id];
  await place(line, text, { folder_ids: [...new Set(moved)].filter(Boolean) }, { folder_ids });
}

/** Into one more folder, or out of it where it already is. */
export async function fileFeed(line, id) {
  const { folder_ids } = await json(addressOf(line));
  const inside = folder_ids.includes(id);
  const after = inside ? folder_ids.filter((one) => one !== id) : [...folder_ids, id];
  const text = treeText(inside ? "takenOut" : "alsoIn", { name: nameOf(line), folder: folderName(id) });
  await place(line, text, { folder_ids: after }, { folder_ids });
}

const folderName = (id) => nameOf(tree.querySelector(`.folder[data-id="${id}"]`));

async function place(line, text, fields, before) {
  const address = addressOf(line);
  await change("PATCH", address, fields);
  const undo = async () => {
    await change("PATCH", address, before);
    announce(treeText("putBack"));
    await refreshTree();
  };
  showToast(text, { label: treeText("undo"), undoes: true, act: () => undo().catch((error) => explain(error, undo)) });
  announce(text);
  await refreshTree();
  refreshCounts();
}

async function leave(line) {
  const [address, name] = [addressOf(line), nameOf(line)];
  const { url, own_title, folder_ids, feed } = await json(address);
  if (feed.private && !confirm(treeText("askLeave", { name }))) return;
  await change("DELETE", address);
  const back = async () => {
    await change("POST", "/api/v1/subscriptions", { url, folder_ids, title: own_title });
    announce(treeText("putBack"));
    await Promise.all([refreshTree(), refreshCounts(), reloadList()]);
  };
  const undo = { label: treeText("undo"), undoes: true, act: () => back().catch((error) => explain(error, back)) };
  showToast(treeText("left", { name }), feed.private ? undefined : undo);
  await Promise.all([refreshTree(), refreshCounts(), reloadList()]);
}

// --- Names are written in place

async function rename(line) {
  await loadTemplates();
  const was = nameOf(line);
  write(line, was, treeText("newName"), async (name) => {
    if (name === was) return;
    await change("PATCH", addressOf(line), { [isFolder(line) ? "name" : "title"]: name });
    announce(treeText("renamed", { name }));
  });
}

async function newFolder(line) {
  await loadTemplates();
  write(line, "", treeText("newFolder"), async (name) => {
    await change("POST", "/api/v1/folders", { name, parent_id: line ? idOf(line) : null });
  });
}

/** A field over the line; Enter or leaving it keeps the text, Escape does not. */
function write(line, value, label, keep) {
  dots.remove();
  const field = Object.assign(document.createElement("input"), { value, className: "rename", maxLength: 255 });
  field.setAttribute("aria-label", label);
  const place = line ?? document.getElementById("feeds-heading");
  const href = line && linkOf(line).getAttribute("href");
  place.append(field);
  field.focus();
  field.select();
  let done = false;
  const finish = async (wanted) => {
    if (done) return;
    done = true;
    const text = field.value.trim();
    const inside = document.activeElement === field;
    field.remove();
    if (inside && href) focusLink(href);
    if (!wanted || !text) return;
    try {
      await keep(text);
    } catch (error) {
      explain(error);
    }
    await refreshTree();
  };
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") finish(true);
    else if (event.key === "Escape") finish(false);
  });
  field.addEventListener("blur", () => finish(true));
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

export async function hideRead(hidden = !("hideRead" in tree.dataset)) {
  tree.toggleAttribute("data-hide-read", hidden);
  document.getElementById("hide-read")?.setAttribute("aria-pressed", String(hidden));
  savePreference("hide_read", hidden ? "1" : "");
  await loadTemplates().catch(() => {});
  announce(treeText(hidden ? "hidden" : "shown"));
}

/** What has the most unread entries first, or the order of names and of folders as arranged. */
export async function orderByUnread(chosen = !("byUnread" in tree.dataset)) {
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
  ({ touches }) => {
    if (press && Math.hypot(touches[0].clientX - press.x, touches[0].clientY - press.y) > SLIP) clearTimeout(press.timer);
  },
  { passive: true },
);
tree?.addEventListener("touchend", (event) => {
  clearTimeout(press?.timer);
  if (press && menuIsOpen()) event.preventDefault(); // else the finger would follow the link
  press = null;
});

// --- Cards of failing feeds

let card = null;
tree?.addEventListener("click", async (event) => {
  const mark = event.target.closest("a.mark");
  if (!mark || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  try {
    showCard(mark, await part(mark.getAttribute("href"), "trouble"));
  } catch (error) {
    explain(error);
  }
});

function showCard(mark, html) {
  closeCard();
  card = new DOMParser().parseFromString(html, "text/html").querySelector(".card-pop");
  if (!card) return location.assign(mark.href);
  document.body.append(card);
  const box = mark.getBoundingClientRect();
  card.style.left = `${Math.max(8, Math.min(box.right + 8, innerWidth - card.offsetWidth - 8))}px`;
  card.style.top = `${Math.max(8, Math.min(box.top - 12, innerHeight - card.offsetHeight - 8))}px`;
  card.opener = mark;
  card.focus();
}

function closeCard() {
  if (!card) return;
  const { opener } = card;
  const inside = card.contains(document.activeElement);
  card.remove();
  card = null;
  if (inside) focusLink(opener.getAttribute("href")); // the tree may have been renewed meanwhile
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !card) return;
  event.stopPropagation();
  closeCard();
}, true);
document.addEventListener("pointerdown", ({ target }) => card && !card.contains(target) && closeCard());
document.addEventListener("focusin", ({ target }) => card && !card.contains(target) && target !== card.opener && closeCard());
