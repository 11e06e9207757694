// Action buttons: [data-action] calls the API; an error message appears next to the button.
import { refresh } from "./navigation.js";
import { words } from "./problems.js";

export async function call(url, options) {
  const response = await fetch(url, options);
  const text = await response.text();
  const body = text ? JSON.parse(text) : {};
  if (!response.ok) throw new Error(words(body, response.status));
  return body;
}

export function complain(element, sentence) {
  const place = element.closest("[data-problem-scope]")?.querySelector("[role=alert]");
  if (place) place.textContent = sentence;
}

async function act(button) {
  if (button.dataset.confirm && !window.confirm(button.dataset.confirm)) return;
  button.disabled = true;
  try {
    const answer = await call(button.dataset.action, { method: button.dataset.method ?? "POST" });
    if (button.dataset.then === "follow") location.assign(`/jobs/${answer.id}`);
    else if (button.dataset.then) location.assign(button.dataset.then);
    else await refresh();
  } catch (error) {
    complain(button, error.message);
  } finally {
    button.disabled = false;
  }
}

export function wireActions() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-action]");
    if (button) await act(button);
    const copy = event.target.closest("[data-copy-link]");
    if (copy) await copyLink(copy);
  });
}

async function copyLink(button) {
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    // Browsers offer the clipboard only in secure contexts; otherwise the reader can copy the address from a dialog.
    window.prompt("Address of this view", location.href);
  }
}
