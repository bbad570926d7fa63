// Menus are <details>: they work alone; here they learn to close. Dialogs open and give the focus back.
import { savePreference } from "./preferences.js";
import { explain } from "./requests.js";
import { loadTemplates } from "./templates.js";

const dialogs = document.getElementsByTagName("dialog"); // those that come later are in it as well
const menus = new Set();

export function dialogIsOpen() {
  return [...dialogs].some((dialog) => dialog.open);
}

/** The table of all keys. */
export async function openKeys() {
  const dialog = document.getElementById("keys");
  if (!dialog || dialog.open) return;
  dialog.showModal();
  if (dialog.querySelector(".keys")) return;
  try {
    const table = (await loadTemplates()).getElementById("keys-table");
    dialog.append(table.content.cloneNode(true));
  } catch (error) {
    dialog.close();
    explain(error, openKeys);
  }
}

/** Close what is open; true when something was. */
export function closeMenus(except) {
  const open = [...menus].filter((menu) => menu !== except);
  for (const menu of open) {
    menu.removeAttribute("open");
    if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
  }
  return open.length > 0;
}

// Kept as they open, so that no click has to search the page for them.
document.addEventListener(
  "toggle",
  ({ target }) => {
    if (!target.matches("details.menu")) return;
    if (target.open) menus.add(target);
    else menus.delete(target);
  },
  true,
);

document.addEventListener("click", (event) => {
  const chosen = event.target.closest(".menu-acts :is(a, button)");
  const beside = event.target.matches("details.menu"); // the shade around a sheet
  closeMenus(chosen || beside ? null : event.target.closest("details.menu"));
  if (event.target.matches("dialog")) event.target.close();
  const edit = event.target.closest("[data-act=close-edit]");
  const place = edit?.closest(".feed-edit");
  if (place) {
    event.preventDefault();
    place.replaceChildren();
  }
});

// What cannot be taken back is asked about; until this is there, early-input.js asks.
document.body.dataset.asks = "yes";
document.addEventListener(
  "submit",
  (event) => {
    const form = event.target.closest("form[data-ask]");
    const dialog = document.getElementById("ask");
    if (!form || !dialog || form.dataset.asked) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    dialog.querySelector("h2").textContent = form.dataset.ask;
    dialog.returnValue = ""; // else Escape would repeat the last answer
    dialog.showModal();
    dialog.addEventListener("close", () => answer(form, event.submitter, dialog.returnValue), { once: true });
  },
  true,
);

function answer(form, submitter, given) {
  if (given !== "yes") return;
  form.dataset.asked = "yes";
  form.requestSubmit(submitter);
  delete form.dataset.asked;
}

// Folded folders and the sidebar's scroll are remembered.
const tree = document.getElementById("tree");
tree?.addEventListener(
  "toggle",
  () => {
    const folded = [...tree.querySelectorAll("details[data-folder]:not([open])")].map(
      (details) => details.dataset.folder,
    );
    savePreference("folded", folded.join("."));
  },
  true,
);
export function restoreScroll() {
  tree.scrollTop = Number(sessionStorage.getItem("tree")) || 0;
  tree.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}
if (tree) {
  restoreScroll();
  addEventListener("pagehide", () => sessionStorage.setItem("tree", String(tree.scrollTop)));
}
document.querySelector(".sub [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
