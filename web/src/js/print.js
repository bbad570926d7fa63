// On paper a link cannot be followed, so the addresses of the links of an article are printed as numbered notes.
const added = [];

addEventListener("beforeprint", () => {
  const prose = document.querySelector("#article .prose, .read .prose");
  if (!prose || added.length) return;
  const list = document.createElement("ol");
  list.className = "print-links";
  const numbers = new Map();
  for (const link of prose.querySelectorAll('a[href^="http"]')) {
    if (!link.textContent.trim() || link.textContent.trim() === link.href) continue;
    if (!numbers.has(link.href)) {
      numbers.set(link.href, numbers.size + 1);
      const item = document.createElement("li");
      item.textContent = link.href;
      list.append(item);
    }
    const mark = document.createElement("sup");
    mark.textContent = `[${numbers.get(link.href)}]`;
    link.after(mark);
    added.push(mark);
  }
  prose.after(list);
  added.push(list);
});
addEventListener("afterprint", () => added.splice(0).forEach((node) => node.remove()));
