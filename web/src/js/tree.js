// The sidebar's tree is renewed in place: the pane stays, and so do its scroll and the focus.
import { restoreScroll } from "./menus.js";
import { part } from "./requests.js";
import { menuIsOpen } from "./dom.js";

const tree = document.getElementById("tree");

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

export function focusLink(href) {
  (tree.querySelector(`a[href="${CSS.escape(href)}"]`) ?? tree).focus({ preventScroll: true });
}
