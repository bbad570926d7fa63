// The search field suggests how to go on, remembers recent searches in this browser, and shows how many entries match.
import "./shared.js";
import { json, part } from "./requests.js";
import { recentSearches } from "./remembered.js";

const REST = 150;
let asked = 0;
let timer = 0;

document.addEventListener("input", ({ target }) => {
  const form = target.closest("form[data-suggest]");
  if (!form) return;
  clearTimeout(timer);
  timer = setTimeout(() => suggest(form).catch(() => close(form)), REST);
});

document.addEventListener("focusin", ({ target }) => {
  const form = target.closest("form[data-suggest]");
  if (form && !target.value) show(form, [], latest());
});

document.addEventListener("focusout", ({ target, relatedTarget }) => {
  const form = target.closest("form[data-suggest]");
  if (form && !form.contains(relatedTarget)) close(form);
});

document.addEventListener("keydown", (event) => {
  const form = event.target.closest("form[data-suggest]");
  if (!form || list(form).hidden) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    move(form, event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter" && hot(form)) {
    event.preventDefault();
    take(form, hot(form));
  } else if (event.key === "Escape") {
    event.stopPropagation();
    close(form);
  }
});

// Not on click: the field would lose the focus first, and the list with it.
document.addEventListener("mousedown", (event) => {
  const option = event.target.closest("form[data-suggest] [role=option]");
  if (!option) return;
  event.preventDefault();
  take(option.closest("form"), option);
});

async function suggest(form) {
  const typed = form.q.value;
  const mine = ++asked;
  if (!typed.trim()) return show(form, [], latest());
  const { items } = await json(`/api/v1/searches/suggest?q=${encodeURIComponent(typed)}`);
  if (mine === asked && document.activeElement === form.q) show(form, items, []);
}

function show(form, items, searches) {
  const box = list(form);
  box.replaceChildren(
    ...group(form.dataset.narrow, items.map((item) => option(item.query, item.text, item.entries, item))),
    ...group(form.dataset.recent, searches.map((query) => option(query, query, null, { kind: "recent" }))),
    ...(searches.length ? [option("", form.dataset.forget, null, { kind: "forget" })] : []),
  );
  box.hidden = !box.childElementCount;
  form.q.setAttribute("role", "combobox");
  form.q.setAttribute("aria-controls", box.id);
  form.q.setAttribute("aria-expanded", String(!box.hidden));
  form.q.removeAttribute("aria-activedescendant");
}

function group(name, options) {
  if (!options.length) return [];
  const head = document.createElement("p");
  head.className = "suggest-head";
  head.textContent = name;
  head.setAttribute("role", "presentation");
  return [head, ...options];
}

function option(query, text, entries, item) {
  const made = document.createElement("div");
  made.className = "suggest-item";
  made.setAttribute("role", "option");
  made.id = `suggestion-${(option.made = (option.made ?? 0) + 1)}`;
  made.dataset.query = query;
  made.dataset.kind = item.kind;
  const name = document.createElement("bdi");
  name.append(...(item.kind === "operator" ? [query] : marked(text)));
  made.append(name);
  if (["feed", "folder", "tag"].includes(item.kind)) {
    const kind = document.createElement("code");
    kind.textContent = `${item.kind}:`;
    made.prepend(kind);
  }
  if (entries !== null && entries !== undefined) {
    const count = document.createElement("span");
    count.className = "count";
    count.textContent = `${entries}${item.more ? "+" : ""}`;
    made.append(count);
  }
  if (item.kind === "saved_search") made.dataset.url = `/saved/${item.id}`;
  return made;
}

// The word that is being typed is what the suggestion matches.
function marked(text) {
  const word = document.activeElement?.value?.split(/[\s:"]+/).at(-1).toLowerCase();
  const start = word ? text.toLowerCase().indexOf(word) : -1;
  if (start < 0) return [text];
  const match = document.createElement("b");
  match.textContent = text.slice(start, start + word.length);
  return [text.slice(0, start), match, text.slice(start + word.length)];
}

function move(form, by) {
  const options = [...list(form).querySelectorAll("[role=option]")];
  const place = (options.indexOf(hot(form)) + by + options.length + (by < 0 && !hot(form) ? 1 : 0)) % options.length;
  for (const one of options) one.removeAttribute("aria-selected");
  options[place].setAttribute("aria-selected", "true");
  form.q.setAttribute("aria-activedescendant", options[place].id);
}

function take(form, chosen) {
  const { kind, query, url } = chosen.dataset;
  if (kind === "forget") {
    recentSearches.clear();
    return close(form);
  }
  if (url) return location.assign(url);
  form.q.value = kind === "operator" ? query : `${query} `;
  close(form);
  if (kind === "operator") return suggest(form).catch(() => close(form));
  form.requestSubmit();
}

function close(form) {
  asked++;
  list(form).hidden = true;
  form.q.setAttribute("aria-expanded", "false");
}

function list(form) {
  return form.querySelector("[role=listbox]");
}

function hot(form) {
  return list(form).querySelector("[aria-selected=true]");
}

function latest() {
  return [...recentSearches.all().keys()].reverse();
}

async function count() {
  const place = document.getElementById("search-count");
  if (place) place.innerHTML = await part(place.dataset.url, "search-count");
}

const typed = document.querySelector("form[data-suggest] input[name=q]")?.value.trim();
if (typed) {
  recentSearches.set(typed, undefined);
  recentSearches.set(typed, 1);
}
count().catch(() => {});

// What was typed before this was there.
const field = document.activeElement?.closest("form[data-suggest] input[name=q]");
if (field && field.value !== field.defaultValue) field.dispatchEvent(new Event("input", { bubbles: true }));
else if (field && !field.value) show(field.form, [], latest());
