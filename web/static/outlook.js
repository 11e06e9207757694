// How long the job in the form takes, said anew while its study, matrices and settings are chosen.
import { whileFilled } from "./forms.js";
import { words } from "./problems.js";

export function wireOutlook() {
  const form = document.querySelector("form.measure");
  if (form) whileFilled(form, () => outlook(form), (sentence) => show(form, sentence));
}

// The page of the form with these settings says it; what stands against them is a sentence too.
async function outlook(form) {
  const query = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name.split(".").at(-1), value]));
  const response = await fetch(`/measure?${query}`).catch(() => null);
  if (!response) return "";
  if (!response.ok) return words(await response.json().catch(() => ({})), response.status);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  return fresh.querySelector("[data-outlook]:not([hidden])")?.textContent ?? "";
}

function show(form, sentence) {
  form.querySelector("[data-outlook]:not([hidden])").textContent = sentence;
}
