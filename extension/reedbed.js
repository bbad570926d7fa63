// The one place that speaks with Reedbed. With the permission for its address, which the options ask for, the
// browser lets an extension call it directly: the server needs no CORS setting.

const TIMEOUT = 20_000;

class ApiError extends Error {}

export async function settings() {
  const { address = "", token = "" } = await chrome.storage.local.get(["address", "token"]);
  return { address, token };
}

export async function save(address, token) {
  await chrome.storage.local.set({ address, token });
}

/** `https://reader.example.org/`, as people write it, to the origin and path without a slash at its end. */
export function tidyAddress(text) {
  const written = text.trim();
  let url;
  try {
    url = new URL(/^https?:\/\//i.test(written) ? written : `https://${written}`);
  } catch {
    throw new ApiError("This is not an address.");
  }
  return (url.origin + url.pathname).replace(/\/+$/, "");
}

export function permissionFor(address) {
  return { origins: [`${new URL(address).protocol}//${new URL(address).hostname}/*`] };
}

export const whoAmI = () => call("GET", "/api/v1/users/me");
export const subscribe = (url) => call("POST", "/api/v1/subscriptions", { url });
export const saveForLater = (url, title) => call("POST", "/api/v1/saved-pages", { url, title: title.slice(0, 500) });
export const site = (root) => call("GET", `/api/site?root=${encodeURIComponent(root)}`);

/** The domains a front page may be known by: `www.news.example.org` is also `news.example.org`. */
function rootsOf(hostname) {
  const name = hostname.toLowerCase().replace(/\.$/, "");
  if (/^[\d.]+$|:/.test(name)) return [name];
  const labels = name.split(".");
  return labels.map((_, place) => labels.slice(place).join(".")).filter((root, place) => place === 0 || root.includes("."));
}

/** The site's items by the longest of its domains that Reedbed knows. */
export async function siteOf(hostname) {
  let unknown;
  for (const root of rootsOf(hostname)) {
    try {
      return await site(root);
    } catch (error) {
      if (error.status !== 404) throw error;
      unknown = error;
    }
  }
  throw unknown;
}

async function call(method, path, body) {
  const { address, token } = await settings();
  if (!address) throw new ApiError("Say in the options where your Reedbed is.");
  const answer = await fetch(address + path, {
    method,
    headers: { Accept: "application/json", ...(token && { Authorization: `Bearer ${token}` }), ...(body && { "Content-Type": "application/json" }) },
    body: body && JSON.stringify(body),
    credentials: "omit",
    signal: AbortSignal.timeout(TIMEOUT),
  }).catch(() => {
    throw new ApiError("Your Reedbed does not answer.");
  });
  const reply = await answer.json().catch(() => null);
  if (answer.ok) return reply;
  const error = new ApiError(reply?.error?.message ?? `Your Reedbed answered ${answer.status}.`);
  error.status = answer.status;
  throw error;
}
