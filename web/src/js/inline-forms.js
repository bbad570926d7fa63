// Forms whose response is only a message: they are sent without leaving the page.
import { explain, send } from "./requests.js";
import { showServerToast } from "./toast.js";

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-stay]");
  if (!form) return;
  event.preventDefault();
  ask(form.getAttribute("action"), new FormData(form, event.submitter));
});

async function ask(url, fields) {
  try {
    showServerToast(await (await send(url, fields)).text(), url);
  } catch (error) {
    explain(error, () => ask(url, fields));
  }
}
