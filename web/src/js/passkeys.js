// Passkeys: the browser asks the authenticator, and a plain form sends the answer.
import { change } from "./requests.js";
import { translate } from "./i18n.js";
import { showToast } from "./toast.js";

let waiting; // the request behind the name field, which the button replaces

const login = document.querySelector("form[data-passkey=login]");
const add = document.querySelector("form[data-passkey=add]");
const confirm = document.querySelector("button[data-passkey=confirm]");

if ("PublicKeyCredential" in window) {
  for (const button of document.querySelectorAll("[data-passkey-button]")) button.hidden = false;
  login?.addEventListener("submit", (event) => act(event, login, () => ask("/api/v1/auth/passkeys/options")));
  add?.addEventListener("submit", (event) => act(event, add, create));
  confirm?.addEventListener("click", (event) =>
    act(event, confirm.form, () => ask("/api/v1/auth/confirm/options"), "confirm_passkey"),
  );
  if (login) offer();
}

async function act(event, form, get, name = "passkey") {
  event.preventDefault();
  waiting?.abort();
  try {
    send(form, await get(), name);
  } catch (error) {
    if (error.status === 403) location.assign(`/confirm?next=${encodeURIComponent(location.pathname)}`);
    else if (error.name === "InvalidStateError") showToast(translate("passkeyKnown"));
    else if (error.name !== "AbortError") showToast(translate("passkeyFailed"));
  }
}

/** Passkeys among the suggestions of the name field; a page that is left forgets it. */
async function offer() {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  waiting = new AbortController();
  try {
    const answer = await ask("/api/v1/auth/passkeys/options", { mediation: "conditional", signal: waiting.signal });
    send(login, answer, "passkey");
  } catch {
    // None was chosen; the button and the password are still there.
  }
}

async function ask(url, how = {}) {
  const { options } = await (await change("POST", url)).json();
  const allowed = options.allowCredentials.map((known) => ({ ...known, id: bytes(known.id) }));
  const publicKey = { ...options, challenge: bytes(options.challenge), allowCredentials: allowed };
  const { id, type, response } = await navigator.credentials.get({ publicKey, ...how });
  const { clientDataJSON, authenticatorData, signature, userHandle } = response;
  return { id, type, response: texts({ clientDataJSON, authenticatorData, signature, userHandle }) };
}

async function create() {
  const { options } = await (await change("POST", "/api/v1/users/me/passkeys/options")).json();
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: options.excludeCredentials.map((known) => ({ ...known, id: bytes(known.id) })),
  };
  const { id, type, response } = await navigator.credentials.create({ publicKey });
  const { clientDataJSON, attestationObject } = response;
  return { id, type, response: texts({ clientDataJSON, attestationObject }) };
}

function send(form, answer, name) {
  form.elements[name].value = JSON.stringify(answer);
  form.submit();
}

function bytes(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}

function texts(fields) {
  return Object.fromEntries(Object.entries(fields).map(([name, buffer]) => [name, buffer && text(buffer)]));
}

function text(buffer) {
  const plain = btoa(String.fromCharCode(...new Uint8Array(buffer)));
  return plain.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
