// Pulling the list down looks for new entries: reeds grow, and letting go past the threshold sends the form.
import { listBody } from "./rows.js";
import { tick } from "./dom.js";
import { translate, translateCount } from "./i18n.js";

const BEGINS = 12;
const LETS_GO = 72;
const MOST = 104;
const SLOWER = 0.6; // the sheet follows the finger with some resistance
let start = null;
let sign = null;

document.addEventListener(
  "touchstart",
  ({ target, touches }) => {
    const body = target.closest("#list-body");
    const atTop = body && body.scrollTop <= 0 && touches.length === 1;
    start = atTop ? { x: touches[0].clientX, y: touches[0].clientY } : null;
  },
  { passive: true },
);

document.addEventListener(
  "touchmove",
  ({ touches: [touch] }) => {
    if (!start) return;
    const by = touch.clientY - start.y;
    const across = Math.abs(touch.clientX - start.x);
    if (!sign && Math.max(by, across, -by) < BEGINS) return;
    if (!sign && by <= across) return void (start = null);
    show(Math.min(MOST, (by - BEGINS) * SLOWER));
  },
  { passive: true },
);

function show(height) {
  if (!sign) {
    sign = document.getElementById("pull-shape").content.firstElementChild.cloneNode(true);
    listBody().prepend(sign);
  }
  sign.style.height = `${Math.max(0, height)}px`;
  const reeds = [...sign.querySelectorAll(".reed")];
  reeds.forEach((reed, place) =>
    reed.toggleAttribute("data-grown", height >= (LETS_GO * (place + 1)) / reeds.length),
  );
  const ready = height >= LETS_GO;
  if (ready === "ready" in sign.dataset) return;
  sign.toggleAttribute("data-ready", ready);
  const feeds = document.querySelectorAll('#tree [data-count^="feed:"]').length;
  sign.lastElementChild.textContent = ready ? translateCount("letGo", feeds) : translate("pull");
  if (ready) tick();
}

function end() {
  const ready = sign && "ready" in sign.dataset;
  sign?.remove();
  start = sign = null;
  if (ready) document.querySelector('form[action="/refresh"] button')?.click();
}

document.addEventListener("touchend", end);
document.addEventListener("touchcancel", end);
