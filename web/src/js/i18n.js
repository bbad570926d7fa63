// Texts of the scripts come from the page, in its language (partials/copy.html).
const messages = document.getElementById("words")?.dataset ?? {};
const language = document.documentElement.lang || "en";
const plural = new Intl.PluralRules(language);

export function translate(key, values = {}) {
  return fill(messages[key] ?? "", values);
}

export function translateCount(key, n) {
  return fill(formOf(messages, key, n), { n: number(n) });
}

/** The form of a text for a number; the language says how many there are. */
export function formOf(texts, key, n) {
  const forms = [plural.select(n), "other", "many"].map((name) => texts[key + name[0].toUpperCase() + name.slice(1)]);
  return forms.find((text) => text !== undefined) ?? "";
}

/** Grouped as the server does it. */
export function number(n) {
  const digits = String(n);
  if (digits.length < (messages.groupedFrom ?? 4)) return digits;
  return digits.replace(/\B(?=(\d{3})+$)/g, messages.group ?? "\u202f");
}

/** The language for times and dates: the browser's variety of it, where it speaks the page's language. */
export function locale() {
  const own = navigator.language;
  return own?.split("-")[0] === language.split("-")[0] ? own : language;
}

export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
