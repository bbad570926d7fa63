// Jump to a place, do something, or search. Places come from the page itself, so they work without a network;
// entries come from the server once typing has rested. The first line is always chosen, so Enter works blind.
import { fill, formOf, locale, number } from "./i18n.js";
import { bindKeys } from "./keyboard.js";
import { openKeys } from "./menus.js";
import { visitedPlaces } from "./remembered.js";
import { explain, json } from "./requests.js";
import { loadTemplates } from "./templates.js";

const REST = 250; // slower than one types, since searches are limited
const TRY_AGAIN = 1500;
const MOST = { places: 4, deeds: 3, searches: 3, entries: 5 };
const LINKS = "#tree .line > a:first-child, #tree a[href^='/saved/'], #tree a[href^='/tag/']";
const PREFIXES = { "@": ["feeds"], "#": ["tags"], ">": ["deeds"], "?": ["ask"] };
const dialog = document.getElementById("palette");
const input = dialog?.querySelector("input");
const found = dialog?.querySelector(".palette-list");
const status = dialog?.querySelector("[role=status]");
let lines = null; // the shapes of lines, once loaded
let enters = false; // Enter came before them
let timer = 0;
let asked = 0; // the answer of an older question is not shown
let searching = false; // opened by "/": the search comes first

function openPalette({ search = false } = {}) {
  if (!dialog || dialog.open) return;
  searching = search;
  input.value = "";
  dialog.showModal();
  input.focus();
  enters = false;
  if (lines) fillList();
  else loadLines();
}

async function loadLines() {
  try {
    lines = (await loadTemplates()).getElementById("palette-lines").content;
  } catch (error) {
    dialog.close();
    return explain(error, openPalette);
  }
  fillList();
  if (enters && dialog.open) take(options()[0]);
}

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  openPalette();
});

document.addEventListener("click", (event) => {
  if (!dialog || !event.target.closest("a[data-act=search]") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  openPalette({ search: true });
});
bindKeys({ "/": () => openPalette({ search: true }) });

// --- What there is to choose

function fillList() {
  if (!lines) return;
  const { only, words } = parse(input.value);
  const groups = words || only ? matching(words, only) : [lately()];
  show(groups);
  clearTimeout(timer);
  asked += 1;
  if (words.length > 1 && !only) timer = setTimeout(() => addEntries(words, asked), REST);
  else timer = setTimeout(announceCount, REST);
}

function parse(text) {
  const only = PREFIXES[text[0]];
  return { only, words: (only ? text.slice(1) : text).trim() };
}

function matching(words, only) {
  const groups = [
    group("goto", best(places(only), words, only ? 12 : MOST.places)),
    group("do", only && only[0] !== "deeds" ? [] : best(deeds(), words, only ? 12 : MOST.deeds)),
    group("searches", only && only[0] !== "ask" ? [] : searches(words, only)),
  ];
  if (only?.[0] === "deeds" || only?.[0] === "ask") groups.shift();
  return searching && !only ? [groups.pop(), ...groups] : groups;
}

/** Where the reader was last, without the list that is shown now. */
function lately() {
  const kept = visitedPlaces().filter(({ href }) => href !== document.getElementById("app")?.dataset.viewUrl);
  const known = new Map(places().map((line) => [line.getAttribute("href"), line]));
  const shown = kept.map(({ href }) => known.get(href)).filter(Boolean);
  return group("lately", shown.length ? shown.slice(0, 5) : places().slice(0, 5));
}

function places(only) {
  const tree = [...document.querySelectorAll(LINKS)];
  const wanted = { feeds: "/feed/", tags: "/tag/" }[only?.[0]];
  const named = tree.filter((link) => !wanted || link.getAttribute("href").startsWith(wanted)).map(placeOf);
  return wanted ? named : [...copies("places"), ...named];
}

function placeOf(link) {
  const count = link.querySelector(".count");
  const folder = link.closest(".line")?.parentElement.closest(".folder");
  const unread = Number(count?.dataset.exact ?? count?.textContent) || 0;
  const where = [
    folder && folder.querySelector(".name").textContent.trim(),
    unread && fill(formOf(found.dataset, "unread", unread), { n: number(unread) }),
  ];
  const mark = link.firstElementChild.cloneNode(true);
  const name = link.querySelector(".name").textContent.trim();
  return line(mark, name, link.getAttribute("href"), where.filter(Boolean).join(" · "));
}

function deeds() {
  return copies("deeds").filter((deed) => deed.dataset.press === "keys" || document.querySelector(deed.dataset.press));
}

function searches(words, only) {
  if (!words) return [];
  const q = encodeURIComponent(words);
  const ask = line(icon("ask"), fill(found.dataset.ask, { q: words }), `/ask?question=${q}`);
  return only ? [ask] : [line(icon("search"), fill(found.dataset.search, { q: words }), `/search?q=${q}`), ask];
}

function copies(of) {
  return [...lines.querySelector(`[data-of=${of}]`).children].map((child) => child.cloneNode(true));
}

function line(mark, name, href, where) {
  const copy = lines.querySelector(".mi").cloneNode(true);
  copy.firstElementChild.replaceWith(mark);
  copy.querySelector("span:not(.fav)").textContent = name;
  copy.href = href;
  if (where) copy.append(Object.assign(document.createElement("span"), { className: "where", textContent: where }));
  return copy;
}

function icon(name) {
  const copy = lines.querySelector(".icon").cloneNode(true);
  copy.querySelector("use").setAttribute("href", `${document.body.dataset.icons}#${name}`);
  return copy;
}

// --- Matching: the beginning of the name, then of a word, then anywhere

function best(candidates, words, most) {
  const wanted = plain(words);
  return candidates
    .map((candidate) => ({ candidate, rank: rank(plain(nameOf(candidate)), wanted) }))
    .filter(({ rank }) => rank < 3)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, most)
    .map(({ candidate }) => emphasise(candidate, words));
}

function nameOf(candidate) {
  return candidate.querySelector("span:not(.fav)").textContent;
}

function plain(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLocaleLowerCase();
}

function rank(name, wanted) {
  if (name.startsWith(wanted)) return 0;
  if (name.split(/[\s\p{P}]+/u).some((word) => word.startsWith(wanted))) return 1;
  return name.includes(wanted) ? 2 : 3;
}

function emphasise(candidate, words) {
  const name = candidate.querySelector("span:not(.fav)");
  const at = words ? name.textContent.toLocaleLowerCase().indexOf(words.toLocaleLowerCase()) : -1;
  const letters = (text) => [...text].length;
  const from = letters(name.textContent.slice(0, at));
  if (at >= 0) mark(name, [[from, from + letters(words)]], "b");
  return candidate;
}

function mark(element, spans, tag) {
  const text = [...element.textContent];
  const pieces = [];
  let end = 0;
  for (const [from, to] of spans) {
    pieces.push(text.slice(end, from).join(""));
    pieces.push(Object.assign(document.createElement(tag), { textContent: text.slice(from, to).join("") }));
    end = to;
  }
  element.replaceChildren(...pieces, text.slice(end).join(""));
}

// --- Entries arrive below and never move the chosen line

async function addEntries(words, question) {
  try {
    const query = /[\p{L}\p{N}]{2}$/u.test(words) ? `${words}*` : words; // the last word is still being typed
    const { items, next_cursor } = await json(`/api/v1/entries?limit=${MOST.entries}&q=${encodeURIComponent(query)}`);
    if (question !== asked || !dialog.open) return;
    const hits = items.map(hit);
    if (next_cursor || hits.length)
      hits.push(line(icon("search"), fill(found.dataset.all, { q: words }), `/search?q=${encodeURIComponent(words)}`));
    found.append(...[group("entries", hits)].filter(Boolean));
    numberLines();
    announceCount();
  } catch (error) {
    if (question !== asked || !dialog.open) return;
    if (error.status === 429) timer = setTimeout(() => addEntries(words, question), TRY_AGAIN);
    announceCount(); // without a network, places and acts are all there is
  }
}

function hit(entry) {
  const link = document.querySelector(`#tree [data-count="feed:${CSS.escape(entry.feed_id)}"]`)?.closest("a");
  const copy = line(link?.firstElementChild.cloneNode(true) ?? icon("text"), entry.title, `/entry/${entry.id}`);
  copy.classList.add("hit");
  const name = copy.querySelector("span:not(.fav)");
  Object.assign(name, { lang: entry.language ?? "", dir: "auto" });
  mark(name, entry.matched?.title ?? [], "mark");
  const excerpt = document.createElement("p");
  excerpt.textContent = entry.matched?.excerpt.text ?? entry.summary;
  mark(excerpt, entry.matched?.excerpt.spans ?? [], "mark");
  const at = new Date(entry.published_at ?? entry.sort_at);
  const isToday = at.toDateString() === new Date().toDateString();
  const when = isToday
    ? at.toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit" })
    : at.toLocaleDateString(locale(), { day: "numeric", month: "short" });
  const time = Object.assign(document.createElement("time"), { className: "hint", textContent: when });
  copy.append(time, excerpt);
  return copy;
}

// --- The list

function group(key, members) {
  if (!members.length) return null;
  const box = document.createElement("div");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", found.dataset[key]);
  const head = Object.assign(document.createElement("div"), { className: "gh", textContent: found.dataset[key] });
  head.setAttribute("aria-hidden", "true");
  box.append(head, ...members);
  return box;
}

function show(groups) {
  found.replaceChildren(...groups.filter(Boolean));
  numberLines();
  choose(options()[0]);
}

function numberLines() {
  options().forEach((option, place) => (option.id = `palette-${place}`));
}

const options = () => [...found.querySelectorAll("[role=option]")];

function choose(option) {
  for (const other of options()) other.setAttribute("aria-selected", String(other === option));
  if (option) input.setAttribute("aria-activedescendant", option.id);
  else input.removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

function announceCount() {
  const n = options().length;
  status.textContent = n ? fill(formOf(found.dataset, "results", n), { n }) : found.dataset.none;
}

input?.addEventListener("input", fillList);
input?.addEventListener("keydown", (event) => {
  const all = options();
  const at = all.findIndex((option) => option.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown") choose(all[(at + 1) % all.length]);
  else if (event.key === "ArrowUp") choose(all.at(at - 1));
  else if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
    location.assign(`/search?q=${encodeURIComponent(parse(input.value).words)}`);
  else if (event.key === "Enter" && !event.isComposing) lines ? take(all[at]) : (enters = true);
  else return;
  event.preventDefault();
});
found?.addEventListener("pointermove", ({ target }) => {
  const option = target.closest("[role=option]");
  if (option && option.getAttribute("aria-selected") !== "true") choose(option);
});
found?.addEventListener("click", (event) => {
  const option = event.target.closest("[role=option]");
  if (!option || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  take(option);
});

function take(option) {
  if (!option) return;
  dialog.close();
  const { press } = option.dataset;
  if (press === "keys") openKeys();
  else if (press) document.querySelector(press)?.click();
  else location.assign(option.getAttribute("href"));
}
