// A video is its picture until play is pressed; then its site is framed in a document of its own, see /player.
import { translate } from "./i18n.js";

const SITES = [
  ["youtube", /^https:\/\/www\.youtube\.com\/watch\?v=([\w-]{6,20})$/],
  ["vimeo", /^https:\/\/vimeo\.com\/(\d{4,15})$/],
];

export function prepareVideos(read) {
  for (const link of read.querySelectorAll('a[href^="https://www.youtube.com/"], a[href^="https://vimeo.com/"]')) {
    if (!link.closest(".prose, .video-link") || !link.textContent.trim().startsWith("▶")) continue;
    for (const [site, pattern] of SITES) {
      const id = link.href.match(pattern)?.[1];
      if (id) offer(link, `/player/${site}/${id}`);
    }
  }
}

function offer(link, player) {
  const video = document.createElement("div");
  video.className = "video";
  const picture = link.querySelector("img");
  if (picture) {
    if (picture.complete && !picture.naturalWidth) picture.remove();
    else video.append(picture);
    picture.addEventListener("error", () => picture.remove());
  }
  const play = document.createElement("button");
  play.type = "button";
  play.className = "big-play";
  play.ariaLabel = translate("playVideo");
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  icon.setAttribute("class", "icon");
  icon.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `${document.body.dataset.icons}#play`);
  icon.append(use);
  const disc = document.createElement("span");
  disc.append(icon);
  play.append(disc);
  play.addEventListener("click", () => start(video, player));
  video.append(play);
  const note = document.createElement("p");
  note.className = "video-note";
  const promise = document.createElement("span");
  promise.textContent = translate("videoPromise");
  link.replaceWith(video);
  link.textContent = translate("openThere");
  note.append(promise, link);
  video.after(note);
}

function start(video, player) {
  const frame = document.createElement("iframe");
  frame.src = player;
  frame.title = translate("video");
  frame.allow = "autoplay; fullscreen; picture-in-picture";
  frame.allowFullscreen = true;
  video.replaceChildren(frame);
  frame.focus();
}
