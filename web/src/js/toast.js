// One message at a time, for ten seconds, longer under the pointer or the focus.

const STAYS = 10_000;
const place = document.getElementById("toasts");
const KEPT = "reedbed:undo";
const UNDO_LASTS = 3_600_000; // The server takes back for an hour.
let timer = 0;
let undoHere = null; // the last act that this page takes back itself

/** The action is a button; with `undoes`, the key of undo does the same, also when the toast has gone. */
export function showToast(message, action) {
  const shape = document.getElementById("toast-shape");
  if (!shape) return;
  const toast = shape.content.firstElementChild.cloneNode(true);
  toast.firstElementChild.textContent = message;
  const button = toast.querySelector("button");
  if (action) {
    button.textContent = action.label;
    button.addEventListener("click", () => {
      dismiss();
      if (action.undoes) undoHere = null;
      action.act();
    });
  } else button.remove();
  if (action?.undoes) {
    forgetUndo();
    undoHere = action.act;
  }
  replace(toast);
}

/** A toast the server wrote, with its undo; `about` is the address that was asked. */
export function showServerToast(html, about = "") {
  place.innerHTML = html;
  if (place.firstElementChild) place.firstElementChild.dataset.about = about;
  noteUndo();
  wait();
}

/** The progress of what the toast is about; the toast stays until it is done. */
export function extendToast(about, text) {
  const message = place.querySelector(`.toast[data-about="${about}"] > span`);
  if (!message) return;
  const more = message.querySelector(".num") ?? message.appendChild(document.createElement("span"));
  more.className = "num";
  more.textContent = text && ` · ${text}`;
  wait();
}

export function toastIsShown() {
  return place.firstElementChild !== null;
}

export function dismiss() {
  place.replaceChildren();
}

/** What takes back the last act of this tab: an act of this page, or the server's token, also after a reload. */
export function takeUndo() {
  const { token, until } = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
  const act = undoHere;
  forgetUndo();
  if (act) dismiss();
  return { act, token: until > Date.now() ? token : null };
}

export function forgetUndo() {
  sessionStorage.removeItem(KEPT);
  undoHere = null;
}

function noteUndo() {
  const token = place.querySelector("form[data-undo]")?.elements.undo.value;
  if (!token) return;
  undoHere = null;
  sessionStorage.setItem(KEPT, JSON.stringify({ token, until: Date.now() + UNDO_LASTS }));
}

function replace(toast) {
  place.replaceChildren(toast);
  wait();
}

function wait() {
  clearTimeout(timer);
  timer = setTimeout(leave, STAYS);
}

function leave() {
  if (place.matches(":hover, :focus-within")) wait();
  else dismiss();
}

if (place.firstElementChild) {
  noteUndo();
  wait();
}
