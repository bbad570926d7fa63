// Menus of lines (`.mi`): a panel on a desk, a sheet at the bottom of a phone. See partials/menu.html for the markup.
// A panel with role=menu is either part of a <details class="menu">, or a copy of a template that `openMenu` shows.
const PHONE = matchMedia("(width < 45rem)");
const HOVER_DELAY = 150;
const DRAG_TO_CLOSE = 60;
const levels = []; // open floating panels, the outermost first: {panel, opener}
let scrim = null;
let chosen = null;
let hoverTimer = 0;

/** Show a panel beside `opener`, or at the point `at`; `choose(act, line)` is called with the line's data-do. */
export function openMenu(panel, { opener, at, choose }) {
  closeMenu({ focus: false });
  chosen = choose;
  opener.setAttribute("aria-expanded", "true");
  if (PHONE.matches) showScrim();
  show(panel, opener, at ?? below(opener));
}

export function closeMenu({ focus = true } = {}) {
  const [first] = levels;
  if (!first) return false;
  for (const { panel, opener } of levels.splice(0)) {
    panel.remove();
    opener.setAttribute("aria-expanded", "false");
  }
  scrim?.remove();
  scrim = null;
  if (focus) first.opener.focus();
  return true;
}

function show(panel, opener, at) {
  panel.hidden = false;
  panel.dataset.floating = "";
  document.body.append(panel);
  levels.push({ panel, opener });
  if (!PHONE.matches) place(panel, at);
  focusLine(linesOf(panel)[0]);
}

function showScrim() {
  scrim = document.createElement("div");
  scrim.className = "scrim";
  scrim.addEventListener("click", () => closeMenu());
  document.body.append(scrim);
}

/** Keep the panel inside the window; `flipTo` is the other side of the line that opened it. */
function place(panel, { x, y, flipTo = x }) {
  const { width, height } = panel.getBoundingClientRect();
  const fits = x + width <= innerWidth - 8;
  panel.style.left = `${Math.max(8, fits ? x : flipTo - width)}px`;
  panel.style.top = `${Math.max(8, Math.min(y, innerHeight - height - 8))}px`;
}

function below(opener) {
  const box = opener.getBoundingClientRect();
  return { x: box.left, y: box.bottom + 4, flipTo: box.right };
}

function openSub(line) {
  const level = levels.at(-1);
  if (line.getAttribute("aria-expanded") === "true") return;
  const template = level.panel.querySelector(`template[data-of="${line.dataset.opens}"]`);
  const panel = template.content.firstElementChild.cloneNode(true);
  line.setAttribute("aria-expanded", "true");
  const box = line.getBoundingClientRect();
  show(panel, line, { x: box.right - 4, y: box.top - 6, flipTo: box.left + 4 });
}

function closeLevel({ focus = true } = {}) {
  if (levels.length < 2) return closeMenu({ focus });
  const { panel, opener } = levels.pop();
  panel.remove();
  opener.setAttribute("aria-expanded", "false");
  if (focus) opener.focus();
}

function linesOf(panel) {
  return [...panel.querySelectorAll(":scope > .mi:not(:disabled), :scope > form > .mi:not(:disabled)")];
}

function focusLine(line) {
  line?.focus({ preventScroll: PHONE.matches });
}

document.addEventListener(
  "keydown",
  (event) => {
    const panel = event.target.closest?.("[role=menu]");
    if (!panel || event.ctrlKey || event.metaKey || event.altKey) return;
    if (handleKey(event, panel)) event.preventDefault();
    if (event.key !== "Escape" || "floating" in panel.dataset) event.stopPropagation();
  },
  true,
);

function handleKey({ key, target }, panel) {
  const lines = linesOf(panel);
  const index = lines.indexOf(target.closest(".mi"));
  const floating = "floating" in panel.dataset;
  const mirrored = getComputedStyle(panel).direction === "rtl";
  const towards = mirrored ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
  if (key === "ArrowDown") focusLine(lines[(index + 1) % lines.length]);
  else if (key === "ArrowUp") focusLine(lines.at(index - 1));
  else if (key === "Home") focusLine(lines[0]);
  else if (key === "End") focusLine(lines.at(-1));
  else if (key === towards[1] && lines[index]?.dataset.opens) openSub(lines[index]);
  else if (floating && (key === "Escape" || (key === towards[0] && levels.length > 1))) closeLevel();
  else if (floating && key === "Tab") closeMenu();
  else if (key.length === 1 && key !== " ") jumpTo(key, lines, index);
  else return false;
  return true;
}

function jumpTo(letter, lines, index) {
  const rotated = [...lines.slice(index + 1), ...lines.slice(0, index + 1)];
  const name = (line) => line.textContent.trim().toLocaleLowerCase();
  focusLine(rotated.find((line) => name(line).startsWith(letter.toLocaleLowerCase())));
}

document.addEventListener("click", (event) => {
  const level = levels.find(({ panel }) => panel.contains(event.target));
  if (!level) return;
  const line = event.target.closest(".mi");
  if (!line) return;
  if (line.dataset.opens) return openSub(line);
  const act = chosen;
  closeMenu();
  if (line.dataset.do) act?.(line.dataset.do, line);
});

document.addEventListener("pointerdown", ({ target }) => {
  if (!levels.length || target === scrim || levels.some(({ panel }) => panel.contains(target))) return;
  closeMenu({ focus: false });
});

// A mouse opens what lies behind a line by resting on it, and closes it by resting on another. A menu that appears
// under a mouse that does not move leaves the keyboard alone.
let pointer = "";
let under = null;
document.addEventListener("pointermove", ({ target, pointerType, clientX, clientY }) => {
  const moved = pointer !== (pointer = `${clientX} ${clientY}`);
  if (!levels.length || pointerType !== "mouse" || !moved) return;
  const line = target.closest?.("[data-floating] > .mi");
  if (line === under) return;
  under = line;
  if (!line) return;
  clearTimeout(hoverTimer);
  hoverTimer = setTimeout(() => rest(line), HOVER_DELAY);
});

function rest(line) {
  const depth = levels.findIndex(({ panel }) => panel === line.parentElement);
  if (depth < 0 || line.getAttribute("aria-expanded") === "true") return;
  while (levels.length > depth + 1) closeLevel({ focus: false });
  focusLine(line);
  if (line.dataset.opens) openSub(line);
}

// A sheet also closes by dragging it down.
const SHEETS = "[data-floating], .menu > [role=menu], .bar .menu-acts";
let dragged = null;
document.addEventListener(
  "touchstart",
  ({ target, touches }) => {
    const panel = PHONE.matches && target.closest?.(SHEETS);
    dragged = panel && panel.scrollTop <= 0 ? { panel, from: touches[0].clientY } : null;
  },
  { passive: true },
);
document.addEventListener(
  "touchmove",
  ({ touches }) => {
    if (dragged) dragged.panel.style.translate = `0 ${Math.max(0, touches[0].clientY - dragged.from)}px`;
  },
  { passive: true },
);
document.addEventListener("touchend", ({ changedTouches }) => {
  if (!dragged) return;
  const { panel, from } = dragged;
  dragged = null;
  panel.style.translate = "";
  if (changedTouches[0].clientY - from <= DRAG_TO_CLOSE) return;
  closeMenu();
  panel.closest("details.menu")?.removeAttribute("open");
});

// A menu in a <details> opens and closes by itself (menus.js); here its first line takes the focus.
function enter(menu) {
  const panel = menu?.open && menu.querySelector(":scope > [role=menu]");
  if (!panel) return;
  const lines = linesOf(panel);
  focusLine(lines.find((line) => line.getAttribute("aria-checked") === "true") ?? lines[0]);
}
document.addEventListener("toggle", ({ target }) => enter(target), true);
enter(document.querySelector("details.menu[open]")); // opened before this was there
addEventListener("resize", () => closeMenu({ focus: false }));
addEventListener("pagehide", () => closeMenu({ focus: false }));
