import { permissionFor, save, settings, tidyAddress, whoAmI } from "./reedbed.js";

const $ = (id) => document.getElementById(id);

async function begin() {
  const { address, token } = await settings();
  $("address").value = address;
  $("token").value = token;
  $("form").addEventListener("submit", submit);
}

async function submit(event) {
  event.preventDefault();
  try {
    const address = tidyAddress($("address").value);
    // Asked for first: a browser hears the question only while the click is fresh.
    if (!(await chrome.permissions.request(permissionFor(address)))) throw new Error("Without this permission the extension cannot reach your Reedbed.");
    await save(address, $("token").value.trim());
    const { email } = await whoAmI();
    say(`Connected as ${email}.`);
  } catch (trouble) {
    say(trouble.message, true);
  }
}

function say(text, isTrouble = false) {
  $("said").textContent = text;
  $("said").className = isTrouble ? "trouble" : "";
}

begin();
