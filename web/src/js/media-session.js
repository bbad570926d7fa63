// What the lock screen and the keys of the keyboard say and do.
import { acts, now, seek, toggle } from "./player.js";

const HANDLERS = {
  play: () => toggle(),
  pause: () => toggle(),
  seekbackward: ({ seekOffset }) => seek(now() - (seekOffset || 15)),
  seekforward: ({ seekOffset }) => seek(now() + (seekOffset || 30)),
  seekto: ({ seekTime }) => seek(seekTime),
  previoustrack: () => seek(0),
  nexttrack: () => acts.next(),
};
let offered = false;

export function announceMedia(item) {
  if (!("mediaSession" in navigator)) return;
  const artwork = item.picture ? [{ src: new URL(item.picture, location.href).href }] : [];
  navigator.mediaSession.metadata = new MediaMetadata({ title: item.title, artist: item.feed_title, artwork });
  if (offered) return;
  offered = true;
  for (const [action, handle] of Object.entries(HANDLERS)) {
    try {
      navigator.mediaSession.setActionHandler(action, handle);
    } catch {
      // A browser throws where it does not know the action.
    }
  }
}

export function announceMoment(media, position, duration) {
  if (!("mediaSession" in navigator) || !duration || position > duration) return;
  navigator.mediaSession.setPositionState?.({ duration, playbackRate: media.playbackRate, position });
}
