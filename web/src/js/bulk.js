// Marking many at once: shown at once, with the server's own undo.
import { noteSent, show } from "./marks.js";
import { clearSelection, reloadList, selection } from "./list.js";
import { explain, send } from "./requests.js";
import { foldersOf, refreshCounts } from "./counts.js";
import { allRows, idOf } from "./rows.js";
import { announce } from "./announce.js";
import { closeMenus } from "./menus.js";
import { dismiss, forgetUndo, showServerToast, showToast } from "./toast.js";
import { translate } from "./i18n.js";

document.addEventListener("formdata", (event) => {
  if (event.target.querySelector?.("input[name=scope][value=ids]"))
    for (const id of selection()) event.formData.append("ids", id);
});

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-bulk], form[data-undo]");
  if (!form) return;
  event.preventDefault();
  const fields = new FormData(form, event.submitter);
  if (form.matches("[data-undo]")) undoBulk(fields);
  else markMany(fields);
});

export async function markMany(given) {
  const fields = given instanceof FormData ? given : asForm(given);
  const read = fields.get("value") !== "false";
  const changed = affected(fields).filter((row) => row.hasAttribute("data-unread") === read);
  for (const row of changed) show(idOf(row), "read", read);
  closeMenus();
  try {
    const response = await send("/mark-read", fields);
    noteSent(changed.map(idOf), "read", read, response);
    showServerToast(await response.text());
    clearSelection();
    await refreshCounts();
  } catch (error) {
    for (const row of changed) show(idOf(row), "read", !read);
    explain(error, () => markMany(fields));
  }
}

function asForm(given) {
  const form = new FormData();
  for (const [name, value] of Object.entries(given)) form.set(name, value);
  return form;
}

let undoneAt = -Infinity;

/** Whether it was this tab that took something back. */
export const undidRecently = () => performance.now() - undoneAt < 3000;

export async function undoBulk(fields) {
  undoneAt = performance.now();
  dismiss();
  forgetUndo();
  try {
    const response = await send("/undo", fields);
    showServerToast(await response.text());
    announce(translate("undone"));
    await Promise.all([reloadList(), refreshCounts()]);
  } catch (error) {
    if (error.status === 404) showToast(translate("nothingToUndo"));
    else explain(error, () => undoBulk(fields));
  }
}

/** The rows on the page that the act is about; the server knows the rest. */
function affected(fields) {
  const rows = allRows().filter((row) => !fields.has("except_starred") || !row.hasAttribute("data-starred"));
  if (fields.has("ids")) return rows.filter((row) => fields.getAll("ids").includes(row.id.slice(1)));
  const folder = fields.get("folder_id");
  if (folder && document.getElementById("app").dataset.viewUrl !== `/folder/${folder}`)
    return rows.filter((row) => foldersOf(`feed:${row.dataset.feed}`).includes(folder));
  if (fields.has("feed_id")) return rows.filter((row) => row.dataset.feed === fields.get("feed_id"));
  const place = rows.findIndex((row) => row.id === `e${fields.get("above") ?? fields.get("below")}`);
  if (fields.has("above")) return rows.slice(0, Math.max(0, place));
  if (fields.has("below")) return place < 0 ? [] : rows.slice(place + 1);
  if (fields.has("older_than"))
    return rows.filter((row) => age(row) > Number(fields.get("older_than")) * 86_400_000);
  return rows;
}

function age(row) {
  return Date.now() - Date.parse(row.querySelector("time").dateTime);
}
