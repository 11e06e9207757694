// Updates what a job would be, and how long it would take, whenever the settings of its form change.
import { whileFilled } from "./forms.js";
import { words } from "./problems.js";

export function wireDuration() {
  const form = document.querySelector("form.measure");
  if (form) whileFilled(form, () => estimate(form), show);
}

// Reads the estimate, or the reason for having none, from the form page with these settings.
async function estimate(form) {
  const query = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name.split(".").at(-1), value]));
  const response = await fetch(`/measure?${query}`).catch(() => null);
  if (!response) return null;
  if (!response.ok) return words(await response.json().catch(() => ({})), response.status);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

function show(found) {
  for (const part of found === null ? [] : document.querySelectorAll("[data-estimate]")) {
    const fresh = typeof found === "string" ? null : found.getElementById(part.id);
    if (fresh) part.replaceChildren(...fresh.childNodes);
    else part.lastElementChild.textContent = found;
  }
}
