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
    showMessage(`Connected as ${email}.`);
  } catch (error) {
    showMessage(error.message, true);
  }
}

function showMessage(text, isError = false) {
  $("message").textContent = text;
  $("message").className = isError ? "error" : "";
}

begin();
