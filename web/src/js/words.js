// What the scripts say comes from the page, in the page's language.
const words = document.getElementById("words")?.dataset ?? {};
const plural = new Intl.PluralRules(document.documentElement.lang || "en");

export function say(key, values = {}) {
  return fill(words[key] ?? "", values);
}

export function sayCount(key, n) {
  const one = plural.select(n) === "one" ? "One" : "Other";
  return fill(words[key + one] ?? "", { n: number(n) });
}

/** The same thin space between thousands that the server prints. */
export function number(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
