// What can be done with a feed or a folder of the sidebar: `runTreeAct("mute:week", line)`.
import { announce } from "./announce.js";
import { refreshCounts } from "./counts.js";
import { markMany } from "./bulk.js";
import { reloadList } from "./list.js";
import { change, explain, json } from "./requests.js";
import { loadTemplates } from "./templates.js";
import { showToast } from "./toast.js";
import { focusLink, refreshTree } from "./tree.js";
import { addressOf, folderAround, idOf, isFolder, linkOf, nameOf, treeText } from "./tree-lines.js";

const DAY = 86_400_000;
const tree = document.getElementById("tree");

export async function runTreeAct(act, line) {
  const [name, value] = act.split(":");
  try {
    await ACTS[name](line, value);
  } catch (error) {
    explain(error, () => runTreeAct(act, line));
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
  return offered ? { label: treeText("undo"), undoes: true, act: () => runTreeAct(act, line) } : undefined;
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

export async function rename(line) {
  await loadTemplates();
  const was = nameOf(line);
  write(line, was, treeText("newName"), async (name) => {
    if (name === was) return;
    await change("PATCH", addressOf(line), { [isFolder(line) ? "name" : "title"]: name });
    announce(treeText("renamed", { name }));
  });
}

export async function newFolder(line) {
  await loadTemplates();
  write(line, "", treeText("newFolder"), async (name) => {
    await change("POST", "/api/v1/folders", { name, parent_id: line ? idOf(line) : null });
  });
}

/** A field over the line; Enter or leaving it keeps the text, Escape does not. */
function write(line, value, label, keep) {
  document.querySelector("#tree .line-menu")?.remove();
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
