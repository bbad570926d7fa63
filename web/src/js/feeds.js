// Feeds, folders and imports.
import { announce } from "./announce.js";
import { explain, send } from "./requests.js";
import { showToast } from "./toast.js";
import { translate } from "./i18n.js";

// The segments are the desk's face of the status select, which the form sends.
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-status]");
  const select = document.getElementById("status");
  if (!link || !select || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  select.value = link.dataset.status;
  select.dispatchEvent(new Event("change", { bubbles: true }));
});
document.addEventListener("change", (event) => {
  if (event.target.id === "status") showStatus(event.target.value);
  if (event.target.matches("#drop input[type=file]")) event.target.form.requestSubmit();
});

function showStatus(value) {
  for (const link of document.querySelectorAll("[data-status]")) {
    if (link.dataset.status === value) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.elt.id === "feed-add-form" && event.detail.xhr.status < 400) {
    event.detail.elt.reset();
    document.getElementById("feed-add-form-errors").replaceChildren();
  }
  if (event.detail.elt.matches(".feed-form") && event.detail.xhr.status === 204) showToast(translate("saved"));
});

const drop = document.getElementById("drop");
drop?.addEventListener("dragover", (event) => {
  event.preventDefault();
  drop.dataset.over = "";
});
drop?.addEventListener("dragleave", () => delete drop.dataset.over);
drop?.addEventListener("drop", (event) => {
  event.preventDefault();
  delete drop.dataset.over;
  drop.querySelector("input[type=file]").files = event.dataTransfer.files;
  drop.requestSubmit();
});
// A server that answers before the file has arrived is not read by the browser, so its limit is known here.
document.addEventListener("htmx:beforeRequest", (event) => {
  const file = event.detail.elt === drop && drop.querySelector("input[type=file]").files[0];
  if (!file || file.size <= Number(drop.dataset.most)) return;
  event.preventDefault();
  showToast(translate("tooLarge"));
});

// Folders: Alt and the arrows, or dragging one onto another. The server answers with the page as it now is.
const KEYS = { ArrowUp: "up", ArrowDown: "down", ArrowRight: "in", ArrowLeft: "out" };
const folders = document.getElementById("folders");
folders?.addEventListener("keydown", (event) => {
  const line = event.target.closest("[data-folder]");
  if (!line || !event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  move(line, { to: KEYS[event.key] });
});
folders?.addEventListener("dragstart", (event) =>
  event.dataTransfer.setData("text/plain", event.target.closest("[data-folder]").dataset.folder),
);
folders?.addEventListener("dragover", (event) => {
  event.preventDefault();
  showDrop(event.target.closest("[data-folder]"), event);
});
for (const name of ["dragleave", "dragend"]) folders?.addEventListener(name, () => showDrop(null));
folders?.addEventListener("drop", (event) => {
  event.preventDefault();
  const line = document.getElementById(`folder-${event.dataTransfer.getData("text/plain")}`);
  const onto = event.target.closest("[data-folder]");
  showDrop(null);
  if (!line || !onto || line === onto) return;
  const goesInto = partOf(onto, event) === "into";
  move(line, goesInto ? { parent_id: onto.dataset.folder } : { before: onto.dataset.folder });
});

/** The upper third of a line means before it, the rest into it. */
function partOf(line, event) {
  const box = line.getBoundingClientRect();
  return event.clientY - box.top < box.height / 3 ? "before" : "into";
}

function showDrop(line, event) {
  for (const other of folders.querySelectorAll("[data-drop]")) delete other.dataset.drop;
  if (line) line.dataset.drop = partOf(line, event);
}

async function move(line, fields) {
  try {
    const response = await send(`/folders/${line.dataset.folder}/move`, fields);
    const answer = new DOMParser().parseFromString(await response.text(), "text/html");
    folders.replaceChildren(...answer.getElementById("folders").children);
    document.getElementById(line.id)?.focus();
    announce(translate("moved", { name: line.getAttribute("aria-label") }));
  } catch (error) {
    explain(error, () => move(line, fields));
  }
}
