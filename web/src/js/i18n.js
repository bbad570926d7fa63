// Texts of the scripts come from the page, in its language (partials/copy.html).
const messages = document.getElementById("words")?.dataset ?? {};
const plural = new Intl.PluralRules(document.documentElement.lang || "en");

export function translate(key, values = {}) {
  return fill(messages[key] ?? "", values);
}

export function translateCount(key, n) {
  const one = plural.select(n) === "one" ? "One" : "Other";
  return fill(messages[key + one] ?? "", { n: number(n) });
}

/** The same thin space between thousands that the server prints. */
export function number(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
