// Report the position to the server. What could not be sent is sent when the network is back.
import { change } from "./requests.js";

const UNSENT = "reedbed:position";
/** The name of this tab: events that carry it are about its own changes. */
export const SOURCE = (sessionStorage["reedbed:source"] ??= Math.random().toString(36).slice(2, 10));

export function address(path, item) {
  return `/api/v1/playback/${path}/${item.entry_id}?number=${item.number}&source=${SOURCE}`;
}

export async function report(item, fields) {
  const url = address("positions", item);
  const kept = JSON.stringify({ url, fields, at: Date.now() });
  localStorage.setItem(UNSENT, kept);
  await change("PUT", url, fields);
  if (localStorage.getItem(UNSENT) === kept) localStorage.removeItem(UNSENT);
}

export async function sendUnsent() {
  const kept = localStorage.getItem(UNSENT);
  if (!kept) return;
  const { url, fields, at } = JSON.parse(kept);
  const sent = await change("PUT", url, { ...fields, age_ms: Math.max(0, Date.now() - at) }).catch(() => null);
  if (sent && localStorage.getItem(UNSENT) === kept) localStorage.removeItem(UNSENT);
}

addEventListener("online", () => sendUnsent());
