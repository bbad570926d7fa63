// The reader's choices live in one cookie, so that the server's first paint is already right.
import { loadSheet } from "./dom.js";

const COOKIE = "reedbed_look";
const YEAR = 31_536_000;
const WITH_FONTS = new Set(["literata", "atkinson"]);
const ON_ROOT = new Set(["theme", "font", "size", "width"]);

export function savePreference(name, value) {
  const look = readPreferences();
  if (value) look.set(name, value);
  else look.delete(name);
  document.cookie = `${COOKIE}=${encodeURIComponent(look)}; path=/; max-age=${YEAR}; samesite=lax`;
}

function readPreferences() {
  const found = document.cookie.split("; ").find((cookie) => cookie.startsWith(`${COOKIE}=`));
  return new URLSearchParams(found ? decodeURIComponent(found.slice(COOKIE.length + 1)) : "");
}

function show(name, value) {
  if (ON_ROOT.has(name)) setOrClear(document.documentElement, name, value);
  // The faces have a sheet of their own, which the server links once one is chosen.
  if (name === "font" && WITH_FONTS.has(value)) loadSheet(document.body.dataset.fonts);
  if (name === "scroll")
    document.getElementById("rows")?.toggleAttribute("data-marks-on-scroll", Boolean(value));
}

function setOrClear(element, name, value) {
  if (value) element.dataset[name] = value;
  else delete element.dataset[name];
}

document.addEventListener("change", (event) => {
  const input = event.target;
  if (!input.closest("form[data-look]") || !["radio", "checkbox"].includes(input.type)) return;
  const value = input.type === "checkbox" && !input.checked ? "" : input.value;
  savePreference(input.name, value);
  show(input.name, value);
});
