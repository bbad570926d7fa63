import { saveForLater, settings, subscribe } from "./reedbed.js";
import { isAlways, portalAddress, setAlways } from "./portals.js";

const $ = (id) => document.getElementById(id);

async function begin() {
  const { address } = await settings();
  const tab = await currentTab();
  const url = tab?.url && /^https?:/.test(tab.url) ? new URL(tab.url) : null;
  $("page").textContent = url ? url.hostname : "This page cannot be followed.";
  $("reedbed").href = address || "options.html";
  for (const id of ["subscribe", "list", "later", "portal", "always"]) $(id).disabled = !url || !address;
  if (!address) return showMessage("Say in the options where your Reedbed is.");
  if (!url) return;
  $("always").checked = await isAlways(url.hostname);
  $("subscribe").addEventListener("click", () => act("subscribe", () => follow(url.href)));
  $("list").addEventListener("click", () => act("list", () => openLists(address, url.href)));
  $("later").addEventListener("click", () => act("later", () => later(url.href, tab.title || "")));
  $("portal").addEventListener("click", () => act("portal", () => openPortal(tab, url)));
  $("always").addEventListener("change", () => act("always", () => always(url.hostname)));
}

async function currentTab() {
  // A page of the extension itself may be asked about another tab: that is how it is tested.
  const asked = new URLSearchParams(location.search).get("tab");
  if (asked) return chrome.tabs.get(Number(asked));
  const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
  return tab;
}

async function follow(url) {
  const made = await subscribe(url);
  showMessage(`You follow ${made.title || made.feed?.title || "it"} now.`);
}

async function later(url, title) {
  const saved = await saveForLater(url, title);
  showMessage(saved.new ? "Saved for later." : "It was among your entries, and is now under Later.");
}

/** Reedbed shows the lists that it finds on the page; one is chosen there. */
async function openLists(address, url) {
  await chrome.tabs.create({ url: `${address}/make-a-feed?url=${encodeURIComponent(url)}` });
  window.close();
}

async function openPortal(tab, url) {
  await chrome.tabs.update(tab.id, { url: portalAddress(url) });
  window.close();
}

async function always(hostname) {
  const wanted = $("always").checked;
  const allowed = await setAlways(hostname, wanted);
  $("always").checked = wanted && allowed;
  showMessage(wanted && !allowed ? "The browser was not allowed to see this site." : wanted ? "From the next visit on." : "No longer.");
}

async function act(id, work) {
  $(id).disabled = true;
  try {
    await work();
  } catch (error) {
    showMessage(error.message, true);
  } finally {
    $(id).disabled = false;
  }
}

function showMessage(text, isError = false) {
  $("message").textContent = text;
  $("message").className = isError ? "error" : "";
}

begin();
