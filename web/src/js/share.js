import { announce } from "./announce.js";
import { showToast } from "./toast.js";
import { say } from "./words.js";

export async function copyAddress() {
  const read = document.querySelector("#article .read");
  if (read) await copy(read.dataset.original || location.href);
}

async function share() {
  const read = document.querySelector("#article .read");
  const url = read?.dataset.original || location.href;
  if (!navigator.share) return copy(url);
  // Closing the system's sheet is no failure.
  await navigator.share({ title: read?.querySelector("h1").textContent, url }).catch(() => {});
}

async function copy(text) {
  await navigator.clipboard.writeText(text);
  showToast(say("copied"));
  announce(say("copied"));
}

document.addEventListener("click", (event) => {
  const given = event.target.closest("[data-copy]");
  if (given) copy(given.dataset.copy);
  if (event.target.closest("[data-act=copy]")) copyAddress();
  if (event.target.closest("[data-act=share]")) share();
  if (event.target.closest("a[data-act=tags]")) {
    event.preventDefault();
    document.getElementById("new-tag")?.focus();
  }
});
