// A line of the sidebar's tree: what it is about, and the texts of what can be done with it.
import { fill, formOf, number } from "./i18n.js";
import { loadedTemplates } from "./templates.js";

export const lineOf = (element) => element.closest?.("#tree .line");
export const linkOf = (line) => line.querySelector(":scope > a");
export const nameOf = (line) => line.querySelector(":scope > a .name").textContent.trim();
export const isFolder = (line) => line.classList.contains("folder");
export const idOf = (line) => (isFolder(line) ? line.dataset.id : linkOf(line).pathname.split("/")[2]);
export const folderAround = (line) => line.parentElement.closest("#tree .folder");

export function addressOf(line) {
  return `/api/v1/${isFolder(line) ? "folders" : "subscriptions"}/${idOf(line)}`;
}

export function treeText(key, values = {}) {
  return fill(treeTexts()[key] ?? "", values);
}

export function treeCount(key, n) {
  return fill(formOf(treeTexts(), key, n), { n: number(n) });
}

function treeTexts() {
  return loadedTemplates()?.getElementById("tree-texts").dataset ?? {};
}
