// Where the reader stopped in a long text. Players keep their positions on the server, see player.js.
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
