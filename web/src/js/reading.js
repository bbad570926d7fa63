// What only an open article needs. Loaded with the first one, so that lists do not wait for it.
import "./shared.js";
import { prepareContents } from "./contents.js";
import { prepareDirections } from "./directions.js";
import { prepareFootnotes } from "./footnotes.js";
import { prepareNotes } from "./notes.js";
import { preparePictures } from "./pictures.js";
import { prepareTables } from "./tables.js";
import { prepareVideos } from "./video.js";
import "./print.js";

/** Prepare the text of an article that has just been put into the page. */
export function prepare(read) {
  preparePictures(read);
  const prose = read.querySelector(".prose");
  if (!prose) return;
  prepareVideos(read);
  prepareDirections(read, prose);
  prepareTables(prose);
  prepareFootnotes(read, prose);
  prepareContents(read, prose);
  prepareNotes(read);
}
