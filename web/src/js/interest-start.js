// What is learnt from reading needs nothing at the first paint: it comes when the page is at rest, and never to those who
// have not switched it on. It is given what it needs of the list, so that it brings no bundle of its own along with it.
import { change } from "./requests.js";
import { findRow } from "./virtual-list.js";
import { idOf, listBody } from "./rows.js";

function start() {
  import("./interest.js").then((module) => module.begin({ change, findRow, idOf, listBody })).catch(() => {});
}

if ("learns" in document.body.dataset && document.getElementById("app")) {
  if (document.readyState === "complete") later();
  else addEventListener("load", later, { once: true });
}

function later() {
  (window.requestIdleCallback ?? setTimeout)(start);
}
