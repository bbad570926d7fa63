// One message at a time, for ten seconds, longer under the pointer or the focus.
import htmx from "./htmx.js";

const STAYS = 10_000;
const place = document.getElementById("toasts");
let timer = 0;
let undoForm = null;

export function showToast(message, action) {
  const shape = document.getElementById("toast-shape");
  if (!shape) return;
  const toast = shape.content.firstElementChild.cloneNode(true);
  toast.firstElementChild.textContent = message;
  const button = toast.querySelector("button");
  if (action) {
    button.textContent = action.label;
    button.addEventListener("click", () => (dismiss(), action.act()));
  } else button.remove();
  replace(toast);
}

/** A toast the server wrote, with its undo. */
export function showServerToast(html) {
  place.innerHTML = html;
  htmx.process(place);
  noteUndo();
  wait();
}

export function dismiss() {
  place.replaceChildren();
}

/** The form of the last act that can be taken back, on the page or not; each is given out once. */
export function takeUndo() {
  const form = undoForm;
  undoForm = null;
  return form;
}

export function forgetUndo() {
  undoForm = null;
}

function noteUndo() {
  undoForm = place.querySelector("form[data-undo]") ?? undoForm;
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
