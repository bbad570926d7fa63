// The player comes with the first sound, or when this reader's queue holds something; nothing of it before.
import { firstAct } from "./first-act.js";
import { explain, json, send } from "./requests.js";
import { showServerToast } from "./toast.js";

const STATE = "reedbed:player";
const QUEUE = "/api/v1/playback/queue";
const app = document.getElementById("app");
let loaded = null;

/** What this tab plays, kept over the change of a page: `{closed, id, at, playing}`. */
export function playerState() {
  try {
    return JSON.parse(sessionStorage.getItem(STATE) ?? "{}");
  } catch {
    return {};
  }
}

export function keepPlayerState(changes) {
  sessionStorage.setItem(STATE, JSON.stringify({ ...playerState(), ...changes }));
}

function player() {
  loaded ??= import("./player.js");
  return loaded;
}

async function showQueue() {
  const { items } = await json(QUEUE);
  if (items.length || loaded) (await player()).setQueue(items);
  else giveUpPlace();
}

// The page knows whether the queue holds something; it hears of changes by the event stream.
function begin() {
  const { closed, playing } = playerState();
  const queued = "player" in app.dataset; // its place is kept free, so that nothing moves when it comes
  if (closed) return giveUpPlace();
  if (playing) showQueue().catch(giveUpPlace);
  else if (queued) firstAct.then(showQueue).catch(giveUpPlace);
}

function giveUpPlace() {
  if (!document.querySelector(".player-bar")) delete app.dataset.player;
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-recording]");
  if (!form) return;
  event.preventDefault();
  const [entry_id, number] = form.dataset.recording.split(":");
  playRecording(entry_id, Number(number), event.submitter?.value);
});

// What is read aloud already is played; else the answer says that it is being read.
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-listen]");
  if (!form) return;
  event.preventDefault();
  form.closest("details")?.removeAttribute("open");
  listenTo(form.getAttribute("action"), new FormData(form)).catch((error) => explain(error));
});

async function listenTo(url, fields) {
  const answer = await send(url, fields);
  const entry_id = answer.headers.get("Reedbed-Recording");
  if (entry_id) playRecording(entry_id);
  else showServerToast(await answer.text(), url);
}

/** Play it now, or put it into the queue. */
export function playRecording(entry_id, number = 0, place = "now") {
  keepPlayerState({ closed: false });
  player()
    .then((module) => module.enqueue({ entry_id, number, place }))
    .catch((error) => explain(error));
}

// From another device: `{what: "queue" | "position", source, ...}`.
document.addEventListener("reedbed:playback", ({ detail }) => {
  if (detail.what === "queue" && !loaded && !playerState().closed) showQueue().catch(() => {});
  else if (loaded) loaded.then((module) => module.noteOther(detail));
});

if (document.body.dataset.live && app) begin();
