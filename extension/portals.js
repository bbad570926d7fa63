// Which sites' front pages are replaced, and by what.

export function portalAddress(url) {
  return `${chrome.runtime.getURL("portal.html")}?site=${encodeURIComponent(url.origin)}`;
}

export async function isAlways(hostname) {
  return (await chosen()).includes(hostname);
}

/** Whether the browser allows it: seeing when a site is opened needs a permission for that site alone. */
export async function setAlways(hostname, wanted) {
  const permission = { origins: [`http://${hostname}/*`, `https://${hostname}/*`] };
  if (wanted && !(await chrome.permissions.request(permission))) return false;
  const others = (await chosen()).filter((one) => one !== hostname);
  await chrome.storage.local.set({ sites: wanted ? [...others, hostname] : others });
  return true;
}

export function isFrontPage(url) {
  return /^https?:$/.test(url.protocol) && /^\/(index\.\w+)?$/.test(url.pathname) && !url.search;
}

/** The site's own front page once, without its portal. */
export async function letPass(hostname) {
  await chrome.storage.session.set({ [`pass:${hostname}`]: Date.now() });
}

export async function mayPass(hostname) {
  const key = `pass:${hostname}`;
  const { [key]: since } = await chrome.storage.session.get(key);
  return since !== undefined && Date.now() - since < 10 * 60_000;
}

async function chosen() {
  const { sites = [] } = await chrome.storage.local.get("sites");
  return sites;
}
