import { announce } from "./announce.js";
import { showToast } from "./toast.js";
import { translate } from "./i18n.js";

export async function copyAddress() {
  const read = document.querySelector("#article .read");
  if (read) await copy(read.dataset.original || location.href);
}

async function share() {
  const read = document.querySelector("#article .read");
  const url = read?.dataset.original || location.href;
  await shareOrCopy({ title: read?.querySelector("h1").textContent, url }, url);
}

/** Open the system's way to share, or copy the text where there is none. */
export async function shareOrCopy(data, text) {
  if (!navigator.share) return copy(text);
  // Closing the system's sheet is no failure.
  await navigator.share(data).catch(() => {});
}

/** Open the tags of the article where they stand in the bar. */
export function openTags() {
  const menu = document.getElementById("tag-menu");
  if (!menu) return;
  menu.open = true;
  document.getElementById("new-tag").focus();
}

export async function copy(text) {
  await navigator.clipboard.writeText(text);
  showToast(translate("copied"));
  announce(translate("copied"));
}

document.addEventListener("click", (event) => {
  const given = event.target.closest("[data-copy]");
  if (given) copy(given.dataset.copy);
  if (event.target.closest("[data-act=copy]")) copyAddress();
  if (event.target.closest("[data-act=share]")) share();
  if (event.target.closest("[data-act=tags]")) openTags();
});
