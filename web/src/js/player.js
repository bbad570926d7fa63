// The player at the foot of the page. It stays while entries change, and goes on after a change of the page.
import "./shared.js";
import { loadSheet } from "./dom.js";
import { change, explain, part } from "./requests.js";
import { fill } from "./i18n.js";
import { announce } from "./announce.js";
import { showToast } from "./toast.js";
import { keepPlayerState, playerState } from "./player-start.js";
import { SOURCE, address, report, sendUnsent } from "./player-positions.js";
import { chapterAt, chaptersOf, openPanel, panelIsOpen, renderPanel, showMoment } from "./player-panel.js";
import { announceMedia, announceMoment } from "./media-session.js";

const QUEUE = `/api/v1/playback/queue?source=${SOURCE}`;
const SAVE_EVERY = 10_000;
const BACK = 15;
const AHEAD = 30;
// One element for all: on iOS only an element that a tap has started may play the next recording.
const media = document.createElement("video");
media.playsInline = true;
let bar = null;
let queue = [];
let current = null;
let from = 0; // where to begin once the file is there
let started = 0; // where this stretch of playing began
let saved = 0;
let sleepAt = 0;
let sleepAfter = "";
let chapterEnd = 0;
let goesOn = playerState().playing ? playerState().id : ""; // what played on the page before

export const text = (key, values) => fill(bar.dataset[key] ?? "", values);
export const find = (selector) => bar.querySelector(selector);
export const nameOf = (item) => `${item.entry_id}:${item.number}`;

let built = null;

function build() {
  return (built ??= makeBar());
}

async function makeBar() {
  const html = await part(`/playback/bar?language=${document.documentElement.lang}`, "player");
  await loadSheet(document.body.dataset.player);
  bar = new DOMParser().parseFromString(html, "text/html").getElementById("player");
  bar.querySelector(".player-video").prepend(media);
  document.getElementById("app").append(bar);
  listen();
  await sendUnsent();
}

// --- The queue: its first recording is the one that plays

export async function setQueue(items) {
  await build();
  queue = items;
  if (!items.length) return hide();
  const same = current && nameOf(current) === nameOf(items[0]);
  if (!same) load(items[0]);
  else current = { ...items[0], position: current.position };
  if (goesOn && goesOn === nameOf(current)) play();
  goesOn = "";
  renderPanel(queue);
  show();
}

/** Put a recording into the queue, and play it where `place` is now. */
export async function enqueue({ entry_id, number, place }) {
  await build();
  if (place === "now" && current && nameOf(current) === `${entry_id}:${number}`) return toggle();
  if (place === "now") save();
  const { items } = await (await change("POST", QUEUE, { entry_id, number, place })).json();
  await setQueue(items);
  if (place === "now") await play();
  else showToast(text("queued"));
}

/** Order, clear or undo: the whole queue as the list of these recordings. */
export async function replaceQueue(items, message = "") {
  const before = queue;
  const body = { items: items.map(({ entry_id, number }) => ({ entry_id, number })) };
  try {
    const playing = !media.paused;
    const answer = await (await change("PUT", QUEUE, body)).json();
    await setQueue(answer.items);
    if (playing && answer.items.length) await play();
    if (message) showToast(message, { label: text("undo"), undoes: true, act: () => replaceQueue(before) });
  } catch (error) {
    explain(error, () => replaceQueue(items, message));
  }
}

export function queued() {
  return queue;
}

async function next() {
  const playing = !media.paused || media.ended;
  const answer = await change("DELETE", address("queue", current)).catch(() => null);
  if (!answer) return;
  await setQueue((await answer.json()).items);
  if (playing && queue.length) await play();
}

// --- One recording

function load(item) {
  media.pause();
  current = item;
  const state = playerState();
  from = state.id === nameOf(item) ? state.at : (item.position?.resume_at ?? 0);
  started = from;
  media.preload = "none";
  media.src = item.play_url;
  setSpeed(item.speed ?? Number(bar.dataset.ownSpeed));
  describe(item);
  chaptersOf(item).then(() => showTime());
  showTime();
}

function describe(item) {
  const title = find(".now-title");
  title.textContent = item.title;
  title.href = `/entry/${item.entry_id}`;
  find(".now-about").textContent = item.feed_title;
  const picture = find(".now > img");
  picture.hidden = !item.picture;
  if (item.picture) picture.src = item.picture;
  bar.toggleAttribute("data-video", item.kind === "video");
  find(".player-video").hidden = item.kind !== "video";
  announceMedia(item);
}

async function play() {
  try {
    await media.play();
  } catch (error) {
    if (error.name === "NotAllowedError") announce(text("blocked"));
    else if (error.name !== "AbortError") showToast(text("failed"));
  }
}

export function toggle() {
  if (media.paused) play();
  else media.pause();
}

export function now() {
  return media.readyState ? media.currentTime : from;
}

export function total() {
  const length = media.duration;
  return Number.isFinite(length) && length > 0 ? length : (current?.position?.total ?? current?.seconds ?? 0);
}

export function seek(to) {
  const end = total();
  const at = Math.max(0, end ? Math.min(to, end) : to);
  if (!media.readyState) from = at;
  else {
    media.currentTime = at;
    if (at > 1 && media.seekable.length && media.seekable.end(0) < 1) showToast(text("noSeeking"));
  }
  started = at;
  showTime();
  save();
}

export function setSpeed(percent) {
  media.defaultPlaybackRate = media.playbackRate = percent / 100;
  const choice = find("[data-speed]");
  if (![...choice.options].some((option) => option.value === String(percent)))
    choice.add(new Option(`${percent / 100}×`, percent));
  choice.value = String(percent);
  find("[data-feed-speed]").checked = current?.speed != null;
}

async function keepSpeed() {
  const percent = Number(find("[data-speed]").value);
  const ofFeed = find("[data-feed-speed]").checked;
  setSpeed(percent);
  try {
    if (current.subscription_id)
      await change("PUT", `/api/v1/playback/feeds/${current.subscription_id}`, { speed: ofFeed ? percent : null });
    if (!ofFeed) await change("PATCH", "/api/v1/users/me", { preferences: { playback_speed: percent } });
    if (!ofFeed) bar.dataset.ownSpeed = percent;
    current.speed = ofFeed ? percent : null;
    find("[data-feed-speed]").checked = ofFeed;
  } catch (error) {
    explain(error);
  }
}

// --- Positions

/** `done` only where it has ended; else the server decides. */
function save(done = null) {
  if (!current || (!media.readyState && done === null && from === (current.position?.resume_at ?? 0))) return;
  saved = performance.now();
  const seconds = Math.floor(now());
  const length = Math.round(total()) || null;
  current.position = { ...current.position, position: seconds, total: length, resume_at: Math.max(0, seconds - 3) };
  report(current, { position: seconds, total: length, started: Math.floor(started), done }).catch(() => {});
}

function remember() {
  if (current) keepPlayerState({ id: nameOf(current), at: now(), playing: !media.paused });
}

function showTime() {
  if (!current) return;
  showMoment(now(), total());
  const chapter = chapterAt(now());
  find(".now-about").textContent = chapter ? `${chapter.title} · ${current.feed_title}` : current.feed_title;
  announceMoment(media, now(), total());
}

function listen() {
  media.addEventListener("loadedmetadata", () => {
    if (from > 0) media.currentTime = from;
    showTime();
  });
  media.addEventListener("timeupdate", () => {
    showTime();
    if (!media.paused && performance.now() - saved > SAVE_EVERY) save();
    if (sleepIsDue()) sleep();
  });
  media.addEventListener("play", () => {
    started = now();
    saved = performance.now();
    keepPlayerState({ closed: false });
    paint();
    save();
  });
  media.addEventListener("pause", () => {
    paint();
    if (!media.ended) save();
  });
  media.addEventListener("seeked", showTime);
  media.addEventListener("durationchange", showTime);
  media.addEventListener("ended", ended);
  media.addEventListener("error", () => media.error && !media.paused && showToast(text("failed")));
  document.addEventListener("visibilitychange", () => document.hidden && !media.paused && save());
  addEventListener("pagehide", () => {
    remember();
    if (!media.paused) save();
  });
  bar.addEventListener("click", ({ target }) => ACTS[target.closest("[data-do]")?.dataset.do]?.());
  find("[data-speed]").addEventListener("change", keepSpeed);
  find("[data-feed-speed]").addEventListener("change", keepSpeed);
  find("[data-sleep]").addEventListener("change", setSleep);
  document.addEventListener("keydown", onKey);
}

async function ended() {
  save(true);
  const stops = sleepAfter === "episode";
  keepPlayerState({ id: "", at: 0, playing: false });
  if (stops) clearSleep();
  const answer = await change("DELETE", address("queue", current)).catch(() => null);
  if (!answer) return;
  await setQueue((await answer.json()).items);
  if (queue.length && !stops) await play();
}

// --- Sleep

function setSleep() {
  const { value } = find("[data-sleep]");
  sleepAfter = value === "chapter" || value === "episode" ? value : "";
  sleepAt = Number(value) > 0 ? Date.now() + Number(value) * 60_000 : 0;
  if (value === "chapter") {
    const chapter = chapterAt(now());
    if (chapter?.end) sleepAt = 0;
    else sleepAfter = "episode";
  }
  chapterEnd = chapterAt(now())?.end ?? 0;
}

function sleepIsDue() {
  if (sleepAfter === "chapter") return chapterEnd > 0 && now() >= chapterEnd - 0.3;
  return sleepAt > 0 && Date.now() >= sleepAt;
}

function sleep() {
  clearSleep();
  media.pause();
  announce(text("slept"));
}

function clearSleep() {
  sleepAt = 0;
  sleepAfter = "";
  find("[data-sleep]").value = "";
}

// --- What is shown

function show() {
  const app = document.getElementById("app");
  app.dataset.player = "";
  bar.hidden = false;
  paint();
}

function hide() {
  media.pause();
  media.removeAttribute("src");
  media.load();
  current = null;
  bar.hidden = true;
  openPanel("");
  delete document.getElementById("app").dataset.player;
  paintArticle();
}

function paint() {
  bar.toggleAttribute("data-playing", !media.paused);
  find(".main-play").setAttribute("aria-label", text(media.paused ? "play" : "pause"));
  if ("mediaSession" in navigator) navigator.mediaSession.playbackState = media.paused ? "paused" : "playing";
  remember();
  paintArticle();
}

/** The button of the article plays and pauses the same recording. */
function paintArticle() {
  for (const form of document.querySelectorAll("form[data-recording]")) {
    const ours = current && form.dataset.recording === nameOf(current) && !media.paused;
    form.toggleAttribute("data-playing", Boolean(ours));
  }
}

const ACTS = {
  toggle,
  back: () => seek(now() - BACK),
  ahead: () => seek(now() + AHEAD),
  next,
  panel: () => openPanel(panelIsOpen() ? "" : "queue"),
  sheet: () => showSheet(!bar.hasAttribute("data-sheet")),
  large: () => media.requestFullscreen?.().catch(() => {}),
  clear: () => replaceQueue([], text("cleared")),
  close() {
    showSheet(false);
    keepPlayerState({ closed: true, playing: false });
    hide();
  },
};
export const acts = ACTS;

function showSheet(open) {
  bar.toggleAttribute("data-sheet", open);
  find("[data-do=sheet]").setAttribute("aria-expanded", String(open));
  openPanel(open ? "queue" : "");
}

function onKey(event) {
  if (!current || !event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea, [contenteditable], [role=slider]")) return;
  const mirrored = document.dir === "rtl" ? -1 : 1;
  const act = { P: "toggle", ArrowLeft: mirrored > 0 ? "back" : "ahead", ArrowRight: mirrored > 0 ? "ahead" : "back" }[
    event.key
  ];
  if (!act || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  ACTS[act]();
}

document.addEventListener("reedbed:article", () => bar && paintArticle());

// --- Other devices

/** Another device changed the queue, or plays. */
export async function noteOther(news) {
  if (news.source === SOURCE) return;
  if (news.what === "queue") {
    const before = current && nameOf(current);
    const { items } = await (await fetch(QUEUE, { headers: { Accept: "application/json" } })).json();
    if (playerState().closed) return;
    if (items.length && before && before !== nameOf(items[0])) save();
    return setQueue(items);
  }
  if (!current || news.position === undefined || nameOf(current) !== nameOf(news)) return;
  if (!media.paused) {
    media.pause();
    announce(text("elsewhere"));
  }
  current.position = { position: news.position, total: news.total, resume_at: Math.max(0, news.position - 3) };
  if (media.readyState) media.currentTime = current.position.resume_at;
  else from = current.position.resume_at;
  remember();
  showTime();
}
