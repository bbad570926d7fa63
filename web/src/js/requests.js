// Everything that goes to the server: the token on every change, one way to say that something failed.
import { translate } from "./i18n.js";
import { showToast } from "./toast.js";

const FORM = { "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8" };
const MAX_KEEPALIVE = 16_000; // browsers refuse more than 64 KB of such bodies under way at once

class Refused extends Error {
  constructor(status) {
    super(`The server answered ${status}`);
    this.status = status;
  }
}

/** A change as a form, the way a plain page would send it; throws Refused, or TypeError when there is no network. */
export async function send(url, fields) {
  const form = fields instanceof FormData ? new URLSearchParams(fields) : new URLSearchParams(Object.entries(fields));
  return store(url, { method: "POST", body: form.toString(), headers: headers({ ...FORM, "X-CSRF-Token": token() }) });
}

/** A change by the API, with the session of the page. */
export async function change(method, url, body) {
  const sent = { "X-CSRF-Token": token(), ...(body && { "Content-Type": "application/json" }) };
  return store(url, { method, body: body && JSON.stringify(body), headers: sent });
}

/** A change that is sent to its end even if the reader leaves the page at once. */
async function store(url, request) {
  return checked(await fetch(url, { ...request, keepalive: (request.body?.length ?? 0) < MAX_KEEPALIVE }));
}

/** The named part of the page at this address. */
export async function part(url, target) {
  const response = await checked(await fetch(url, { headers: headers({ "HX-Target": target }) }));
  return response.text();
}

export async function json(url) {
  return (await checked(await fetch(url, { headers: { Accept: "application/json" } }))).json();
}

/** Show what went wrong and offer the way on. */
export function explain(error, again) {
  if (error instanceof Refused && error.status === 401) {
    showToast(translate("login"), { label: translate("loginAct"), act: logIn });
  } else if (error instanceof Refused && error.status === 429) {
    showToast(translate("slowDown"));
  } else if (error instanceof Refused && error.status === 413) {
    showToast(translate("tooLarge"));
  } else {
    const message = isOffline(error) ? translate("failedLoad") : translate("failed");
    showToast(message, again && { label: translate("again"), act: again });
  }
}

export function isOffline(error) {
  return error instanceof TypeError || (error instanceof Refused && error.status === 504);
}

function headers(extra) {
  return { "HX-Request": "true", "HX-Current-URL": location.href, ...extra };
}

function token() {
  return document.querySelector("meta[name=csrf-token]").content;
}

function checked(response) {
  if (response.redirected && new URL(response.url).pathname === "/login") throw new Refused(401);
  if (!response.ok) throw new Refused(response.status);
  return response;
}

function logIn() {
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
}

document.addEventListener("htmx:configRequest", (event) => {
  event.detail.headers["X-CSRF-Token"] = token();
});

// A refusal with its own place on the page is shown there; any other is explained in a toast.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  if (xhr.status >= 400 && xhr.getResponseHeader("HX-Retarget")) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});
document.addEventListener("htmx:responseError", (event) => explain(new Refused(event.detail.xhr.status)));

// Polls: none while offline, after the first minute less and less often, after an hour no more. An event from the
// server still brings the answer; what the reader does next, or a network that returns, begins anew.
const POLLS = '[hx-trigger*="every "]';
const [PATIENCE, LONGEST_PAUSE, END] = [60_000, 60_000, 3_600_000];
const polls = new Map(); // address: when it was asked first and last

document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, requestConfig } = event.detail;
  if (requestConfig.triggeringEvent) polls.clear();
  else if (elt.matches(POLLS) && !mayPoll(requestConfig.path)) event.preventDefault();
});
document.addEventListener("reedbed:article", () => polls.clear());
addEventListener("online", () => polls.clear());

function mayPoll(address) {
  const now = performance.now();
  const { first, last } = polls.get(address) ?? { first: now, last: -Infinity };
  const waited = now - first;
  const pause = waited < PATIENCE ? 0 : Math.min(waited / 10, LONGEST_PAUSE);
  if (!navigator.onLine || waited > END || now - last < pause) return false;
  polls.set(address, { first, last: now });
  return true;
}

// A poll that fails says nothing: without a network the page already has its sign.
document.addEventListener("htmx:sendError", (event) => {
  if (!event.detail.elt.matches(POLLS)) explain(new TypeError());
});

// After a refused form, the first wrong field takes the focus.
document.querySelector("[aria-invalid=true]")?.focus();
document.addEventListener("htmx:afterSwap", (event) =>
  event.detail.target.querySelector("[aria-invalid=true]")?.focus(),
);
