// Tables that are wider than the text get a frame and scroll inside it. The first column stays in view. Tables for
// layout get neither lines nor columns.
import { translate } from "./i18n.js";

const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => fit(target)));

export function prepareTables(prose) {
  for (const table of prose.querySelectorAll("table")) {
    table.toggleAttribute("data-layout", isForLayout(table));
    if (table.parentElement.closest("table, .scroll")) continue;
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    const box = document.createElement("div");
    box.className = "wide-box";
    table.replaceWith(box);
    scroll.append(table);
    box.append(scroll);
    scroll.addEventListener("scroll", () => showEdge(box, scroll), { passive: true });
    sizes.observe(box);
  }
}

/** Whether a table holds no values but places blocks beside each other, as in mails. */
function isForLayout(table) {
  if (table.querySelector("th")) return false;
  return !table.querySelector("td + td") || table.querySelector("td > :is(table, h1, h2, h3)") !== null;
}

function fit(box) {
  const scroll = box.firstElementChild;
  box.removeAttribute("data-wide");
  const wide = scroll.scrollWidth > scroll.clientWidth + 1;
  box.toggleAttribute("data-wide", wide);
  if (wide) name(box, scroll);
  else for (const attribute of ["tabindex", "role", "aria-label"]) scroll.removeAttribute(attribute);
  if (wide) showEdge(box, scroll);
}

function name(box, scroll) {
  const table = scroll.querySelector("table");
  const n = [...(table.rows[0]?.cells ?? [])].reduce((sum, cell) => sum + cell.colSpan, 0);
  const caption = table.caption?.textContent.trim() ?? "";
  const columns = translate("tableColumns", { n });
  box.dataset.hint = columns;
  scroll.tabIndex = 0;
  scroll.role = "region";
  scroll.ariaLabel = caption ? `${caption}. ${columns}` : `${translate("table")}: ${columns}`;
}

/** The faded edge is shown while there is more beyond it. */
function showEdge(box, scroll) {
  const left = scroll.scrollWidth - scroll.clientWidth - Math.abs(scroll.scrollLeft);
  box.toggleAttribute("data-more", left > 2);
}
