// A player goes on where it stopped, even after a restart.
import { memory } from "./memory.js";

const EVERY = 5;
const positions = memory("players");

function attach(player) {
  const kept = positions.get(player.src) ?? Number(player.dataset.position);
  let noted = kept || 0;
  player.addEventListener("loadedmetadata", () => kept && (player.currentTime = kept), { once: true });
  player.addEventListener("timeupdate", () => {
    if (Math.abs(player.currentTime - noted) < EVERY) return;
    noted = player.currentTime;
    positions.set(player.src, Math.floor(noted));
  });
  player.addEventListener("ended", () => positions.set(player.src, undefined));
}

function attachAll(root) {
  for (const player of root.querySelectorAll("audio, video")) attach(player);
}

document.addEventListener("reedbed:article", (event) => attachAll(event.detail));
