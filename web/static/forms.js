// Forms that post JSON to the API's address of their page: measure matrices, generate one.
import { call, complain } from "./actions.js";

const COUNTED = "details:has(> summary > [data-chosen])";

export function wireForms() {
  for (const select of document.querySelectorAll("[data-family-select]")) {
    select.addEventListener("change", () => showFamily(select));
    showFamily(select);
  }
  for (const details of document.querySelectorAll(COUNTED)) showCount(details);
  document.addEventListener("change", (event) => {
    const details = event.target.closest(COUNTED);
    if (details) showCount(details);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-json-form]") || event.submitter?.hasAttribute("formaction")) return;
    event.preventDefault();
    send(form);
  });
}

// A closed list says how many are chosen in it; some browsers keep the choices of a page that is loaded again.
function showCount(details) {
  const chosen = details.querySelectorAll("input:checked").length;
  details.querySelector("[data-chosen]").textContent = chosen ? `(${chosen} chosen)` : "";
}

function showFamily(select) {
  for (const group of select.form.querySelectorAll("fieldset[data-family]")) {
    const chosen = group.dataset.family === select.value;
    group.hidden = !chosen;
    group.disabled = !chosen;
  }
}

// Fetches what the API says of a form; raises an Error with a sentence.
export function ask(form, path, headers = {}) {
  return call(`/api/v1${new URL(form.action).pathname}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body(form)),
  });
}

async function send(form) {
  const button = form.querySelector("[type=submit]");
  complain(form, "");
  button.disabled = true;
  try {
    const answer = await ask(form, "", form.dataset.idempotent === undefined ? {} : key());
    location.assign(`${form.dataset.then}${answer.id}`);
  } catch (error) {
    complain(form, error.message);
    button.disabled = false;
  }
}

function key() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return { "Idempotency-Key": Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("") };
}

// data-type says what a field is in JSON; an empty optional field stays out, and checked ones of a list are added to it.
function body(form) {
  const values = JSON.parse(form.dataset.body ?? "{}");
  for (const field of form.elements) {
    if (!field.name || field.closest("fieldset:disabled")) continue;
    if (field.dataset.type === "boolean") values[field.name] = field.checked;
    else if (field.dataset.type === "list") {
      if (field.checked || field.type === "hidden") values[field.name] = [...(values[field.name] ?? []), field.value];
    } else if (field.value === "") continue;
    else if (field.dataset.type === "number") values[field.name] = Number(field.value);
    else values[field.name] = field.value;
  }
  return values;
}
