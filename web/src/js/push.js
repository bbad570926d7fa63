// Notifications: the browser creates an address and keys for this server, and a plain form sends them.
import { json } from "./requests.js";
import { showToast } from "./toast.js";
import { translate } from "./i18n.js";

const form = document.querySelector("form[data-push]");

async function ask(event) {
  event.preventDefault();
  if ((await Notification.requestPermission()) !== "granted") return showToast(translate("pushRefused"));
  try {
    fill((await subscribed()).toJSON());
  } catch {
    return showToast(translate("pushFailed"));
  }
  return form.submit();
}

async function subscribed() {
  const { pushManager } = await navigator.serviceWorker.ready;
  const { key } = await json("/api/v1/push/key");
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

function fill({ endpoint, keys }) {
  form.elements.endpoint.value = endpoint;
  form.elements.p256dh.value = keys.p256dh;
  form.elements.auth.value = keys.auth;
}

if (form && "PushManager" in window && "Notification" in window) form.addEventListener("submit", ask);
else if (form) {
  form.querySelector("button").disabled = true;
  form.querySelector("[data-cannot]").hidden = false;
}
