// The second bar: unread or all, order, layout and headings of days. The server keeps them, and the list is asked for
// again.
import { explain, send } from "./requests.js";
import { reloadList } from "./list.js";
import { closeMenus } from "./menus.js";
import { showServerToast } from "./toast.js";

const WIDE = ["magazine", "pictures"];
const app = document.getElementById("app");

export function switchSide() {
  document.querySelector("#list-options [name=show]:not([aria-pressed=true])")?.click();
}

export function chooseLayout(number) {
  document.querySelectorAll("#list-options [data-icons] button")[number - 1]?.click();
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-list-settings]");
  if (!form || !event.submitter) return;
  event.preventDefault();
  keep(new FormData(form, event.submitter));
});

async function keep(fields) {
  closeMenus();
  try {
    const response = await send("/list-settings", fields);
    if (fields.has("for_every_list")) return showServerToast(await response.text());
  } catch (error) {
    return explain(error, () => keep(fields));
  }
  forgetAddress(fields);
  const focused = document.getElementById("list").contains(document.activeElement);
  await reloadList({ top: true });
  if (!focused) return;
  const pressed = [...fields.keys()].find((name) => ["show", "order", "layout"].includes(name));
  const button = document.querySelector(`#list-options .seg [name="${pressed}"][value="${fields.get(pressed)}"]`);
  (button ?? document.querySelector("#list-options summary"))?.focus();
}

/** The address no longer names an order; the two sides of Everything have one each. */
function forgetAddress(fields) {
  const url = new URL(location.href);
  url.searchParams.delete("order");
  if (fields.get("list") === "everything" && fields.has("show")) {
    const side = `/${fields.get("show")}`;
    url.pathname = url.pathname.replace(app.dataset.viewUrl, side);
    app.dataset.viewUrl = side;
  }
  history.replaceState(history.state, "", url);
}

document.addEventListener("reedbed:list", () => {
  const layout = document.getElementById("rows")?.dataset.density;
  if (!layout) return;
  app.toggleAttribute("data-wide-list", WIDE.includes(layout));
  app.toggleAttribute("data-one-line", layout === "titles");
});
