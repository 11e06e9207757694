// Updates the estimated run time of the job in the form whenever its settings change.
import { whileFilled } from "./forms.js";
import { words } from "./problems.js";

export function wireDuration() {
  const form = document.querySelector("form.measure");
  if (form) whileFilled(form, () => duration(form), (sentence) => show(form, sentence));
}

// Reads the estimate, or the reason for having none, from the form page with these settings.
async function duration(form) {
  const query = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name.split(".").at(-1), value]));
  const response = await fetch(`/measure?${query}`).catch(() => null);
  if (!response) return "";
  if (!response.ok) return words(await response.json().catch(() => ({})), response.status);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  return fresh.querySelector("[data-duration]:not([hidden])")?.textContent ?? "";
}

function show(form, sentence) {
  form.querySelector("[data-duration]:not([hidden])").textContent = sentence;
}
