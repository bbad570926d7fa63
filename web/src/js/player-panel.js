// The scrubber, and what opens above the player: the queue, the chapters and the transcript.
import { json } from "./requests.js";
import { find, nameOf, now, queued, replaceQueue, seek, text, total } from "./player.js";

const STEP = 15;
let chapters = [];
let cues = null;
let about = null; // the recording that chapters and cues belong to
let lit = null;

// --- Times

export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((part, place) => (place ? String(part).padStart(2, "0") : part)).join(":");
}

export function showMoment(at, length) {
  const track = find(".track");
  find("[data-at]").textContent = clock(at);
  find("[data-left]").textContent = length ? `−${clock(length - at)}` : "";
  track.style.setProperty("--part", length ? Math.min(1, at / length) : 0);
  track.setAttribute("aria-valuemax", String(Math.round(length)));
  track.setAttribute("aria-valuenow", String(Math.round(at)));
  const chapter = chapterAt(at);
  const label = text("position", { at: clock(at), total: clock(length) });
  track.setAttribute("aria-valuetext", chapter ? `${label}, ${chapter.title}` : label);
  lightUp(at);
  listenToTrack(track);
}

let listens = false;

function listenToTrack(track) {
  if (listens) return;
  listens = true;
  const placeOf = ({ clientX }) => {
    const box = track.getBoundingClientRect();
    const part = (clientX - box.left) / box.width;
    return (document.dir === "rtl" ? 1 - part : part) * total();
  };
  track.addEventListener("pointerdown", (event) => {
    if (!total()) return;
    track.setPointerCapture(event.pointerId);
    const move = (moved) => showMoment(Math.max(0, placeOf(moved)), total());
    track.addEventListener("pointermove", move);
    track.addEventListener(
      "pointerup",
      (up) => {
        track.removeEventListener("pointermove", move);
        seek(placeOf(up));
      },
      { once: true },
    );
  });
  track.addEventListener("keydown", (event) => {
    const to = {
      ArrowLeft: now() - STEP,
      ArrowDown: now() - STEP,
      ArrowRight: now() + STEP,
      ArrowUp: now() + STEP,
      Home: 0,
      End: total() - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    seek(to);
  });
}

// --- Chapters

/** Load the chapters of a recording; the scrubber is cut at them. */
export async function chaptersOf(item) {
  about = item;
  chapters = [];
  cues = null;
  find(".cuts").replaceChildren();
  find(".chapter-list").replaceChildren();
  find(".cue-list").replaceChildren();
  const name = nameOf(item);
  const answer = await json(`/api/v1/playback/recordings/${item.entry_id}/chapters`).catch(() => ({ items: [] }));
  if (nameOf(about) !== name) return;
  chapters = answer.items.map((chapter, place, all) => ({ ...chapter, end: all[place + 1]?.start }));
  cut(item.position?.total ?? item.seconds);
  listChapters();
}

export function chapterAt(at) {
  return chapters.findLast((chapter) => chapter.start <= at) ?? null;
}

function cut(length) {
  if (!length) return;
  const cuts = chapters.slice(1).map((chapter) => {
    const line = document.createElement("u");
    line.style.setProperty("--cut", chapter.start / length);
    return line;
  });
  find(".cuts").replaceChildren(...cuts);
}

function listChapters() {
  const lines = chapters.map((chapter) => {
    const button = line(clock(chapter.start), chapter.title);
    button.addEventListener("click", () => seek(chapter.start));
    const item = document.createElement("li");
    item.append(button);
    return item;
  });
  if (!lines.length) lines.push(note(text("noChapters")));
  find(".chapter-list").replaceChildren(...lines);
}

function line(time, words) {
  const button = document.createElement("button");
  button.type = "button";
  const number = document.createElement("span");
  number.className = "num";
  number.textContent = time;
  const label = document.createElement("span");
  label.dir = "auto";
  label.textContent = words;
  button.append(number, label);
  return button;
}

function note(words) {
  const item = document.createElement("li");
  item.className = "quiet small";
  item.textContent = words;
  return item;
}

// --- Transcript

async function loadTranscript() {
  if (cues || !about) return;
  const name = nameOf(about);
  const list = find(".cue-list");
  list.replaceChildren(note(text("loading")));
  const answer = await json(`/api/v1/playback/recordings/${about.entry_id}/transcript`).catch(() => ({ items: [] }));
  if (nameOf(about) !== name) return;
  cues = answer.items;
  list.lang = answer.language ?? "";
  const lines = cues.map((cue) => {
    const button = line(clock(cue.start), cue.speaker ? `${cue.speaker}: ${cue.text}` : cue.text);
    button.addEventListener("click", () => seek(cue.start));
    const item = document.createElement("li");
    item.append(button);
    return item;
  });
  list.replaceChildren(...(lines.length ? lines : [note(text("noTranscript"))]));
}

function searchTranscript({ target }) {
  const words = target.value.trim().toLowerCase();
  let hits = 0;
  [...find(".cue-list").children].forEach((item, place) => {
    const shown = !words || cues?.[place]?.text.toLowerCase().includes(words);
    item.hidden = !shown;
    hits += words && shown ? 1 : 0;
  });
  find("[data-hits]").textContent = words ? text("found", { n: hits }) : "";
}

/** The chapter and the sentence that play now. */
function lightUp(at) {
  if (!panelIsOpen()) return;
  mark(".chapter-list", chapters.findLastIndex((chapter) => chapter.start <= at));
  const cue = cues?.findLastIndex((one) => one.start <= at) ?? -1;
  const item = mark(".cue-list", cue);
  if (item && item !== lit && !item.hidden && !find(".cue-list").matches(":hover, :focus-within"))
    item.scrollIntoView({ block: "nearest" });
  lit = item;
}

function mark(list, place) {
  const items = find(list).children;
  find(`${list} [aria-current]`)?.removeAttribute("aria-current");
  const item = items[place];
  item?.querySelector("button")?.setAttribute("aria-current", "true");
  return item ?? null;
}

// --- The panel

export function panelIsOpen() {
  return !find(".player-panel").hidden;
}

/** Open this part of the panel; an empty name closes it. */
export function openPanel(name) {
  const panel = find(".player-panel");
  panel.hidden = !name;
  find("[data-do=panel]").setAttribute("aria-expanded", String(Boolean(name)));
  for (const button of panel.querySelectorAll("[data-panel]"))
    button.setAttribute("aria-pressed", String(button.dataset.panel === name));
  for (const section of panel.querySelectorAll("[data-of]")) section.hidden = section.dataset.of !== name;
  if (name === "transcript") loadTranscript();
  if (name) showMoment(now(), total());
  listenToPanel(panel);
}

let attached = false;

function listenToPanel(panel) {
  if (attached) return;
  attached = true;
  panel.addEventListener("click", ({ target }) => {
    const { panel: name } = target.closest("[data-panel]")?.dataset ?? {};
    if (name) openPanel(name);
  });
  panel.querySelector("input[type=search]").addEventListener("input", searchTranscript);
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    openPanel("");
    find("[data-do=panel]").focus();
  });
}

export function renderPanel(queue) {
  const minutes = Math.round(queue.reduce((sum, item) => sum + (item.seconds ?? 0), 0) / 60);
  find("[data-summary]").textContent = text("total", { n: queue.length, minutes });
  find(".player-queue").replaceChildren(...queue.map(queueLine));
}

function queueLine(item, place) {
  const row = document.createElement("li");
  if (!place) row.setAttribute("aria-current", "true");
  const open = line("", item.title);
  open.setAttribute("aria-label", text("open", item));
  open.firstElementChild.textContent = place
    ? item.seconds
      ? text("minutes", { n: Math.round(item.seconds / 60) })
      : ""
    : text("now");
  const from = document.createElement("small");
  from.className = "quiet";
  from.textContent = item.feed_title;
  open.lastElementChild.append(from);
  open.addEventListener("click", () => place && replaceQueue([item, ...others(item)]));
  row.append(
    open,
    act("up", "up", item, () => move(place, -1), place === 0),
    act("down", "down", item, () => move(place, 1), place === queued().length - 1),
    act("remove", "x", item, () => replaceQueue(others(item), text("removed"))),
  );
  return row;
}

const others = (item) => queued().filter((other) => other !== item);

function move(place, by) {
  const items = [...queued()];
  items.splice(place + by, 0, ...items.splice(place, 1));
  replaceQueue(items);
}

function act(key, icon, item, doing, disabled = false) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "icon-btn";
  button.disabled = disabled;
  button.setAttribute("aria-label", text(key, item));
  button.innerHTML = `<svg class="icon" aria-hidden="true"><use href="${document.body.dataset.icons}#${icon}"/></svg>`;
  button.addEventListener("click", doing);
  return button;
}
