// An act whose answer is only a message: the page stays as it is, with what is open on it.
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
    showServerToast(await (await send(url, fields)).text());
  } catch (error) {
    explain(error, () => ask(url, fields));
  }
}
