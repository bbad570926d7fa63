import { isAlways, isFrontPage, mayPass, portalAddress } from "./portals.js";

chrome.runtime.onInstalled.addListener(({ reason }) => {
  if (reason === "install") chrome.runtime.openOptionsPage();
});

// The address of a tab is given only for sites whose permission was given: those that were chosen.
chrome.tabs.onUpdated.addListener(async (tabId, change) => {
  if (!change.url) return;
  const url = new URL(change.url);
  if (!isFrontPage(url) || !(await isAlways(url.hostname)) || (await mayPass(url.hostname))) return;
  await chrome.tabs.update(tabId, { url: portalAddress(url) });
});
