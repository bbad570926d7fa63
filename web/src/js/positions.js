// Where the reader stopped: in a long text, and in a recording.
import { storedMap } from "./stored-map.js";

const textPositions = storedMap("places");
const SETTLED = 400;
let timer = 0;

document.addEventListener("reedbed:article", ({ detail: read }) => {
  const part = textPositions.get(read.dataset.entry);
  const body = read.closest(".pane-body");
  if (part) body.scrollTop = part * body.scrollHeight;
});
document.addEventListener(
  "scroll",
  ({ target }) => {
    if (target.id !== "article-body") return;
    clearTimeout(timer);
    timer = setTimeout(() => note(target.querySelector(".read"), target), SETTLED);
  },
  { capture: true, passive: true },
);

/** The beginning and the end are not worth returning to. */
function note(read, body) {
  const part = body.scrollTop / body.scrollHeight;
  const atEnd = body.scrollTop + body.clientHeight > body.scrollHeight - 40;
  textPositions.set(read.dataset.entry, part < 0.03 || atEnd ? undefined : part);
}

// A player continues where it stopped, even after a restart.
const EVERY = 5;
const playerPositions = storedMap("players");

function attach(player) {
  const kept = playerPositions.get(player.src) ?? Number(player.dataset.position);
  let noted = kept || 0;
  player.addEventListener("loadedmetadata", () => kept && (player.currentTime = kept), { once: true });
  player.addEventListener("timeupdate", () => {
    if (Math.abs(player.currentTime - noted) < EVERY) return;
    noted = player.currentTime;
    playerPositions.set(player.src, Math.floor(noted));
  });
  player.addEventListener("ended", () => playerPositions.set(player.src, undefined));
}

function attachAll(root) {
  for (const player of root.querySelectorAll("audio, video")) attach(player);
}

document.addEventListener("reedbed:article", (event) => attachAll(event.detail));
