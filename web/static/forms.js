// Forms that post JSON to the API's address of their page: measure matrices, generate one.
// Parts of a form depend on a choice above them: [data-for-option] on an option, [data-backend] on a kind of device.
import { call, complain } from "./actions.js";

const SELECTS = "[data-for-option-select], [data-backend-select]";
const PAUSE_MS = 250;
const COUNTED = "fieldset:has(> legend > [data-chosen])";

export function wireForms() {
  for (const select of document.querySelectorAll(`:is(${SELECTS}):not([type=radio]:not(:checked))`)) showParts(select);
  for (const fieldset of document.querySelectorAll(COUNTED)) showCount(fieldset);
  document.addEventListener("change", (event) => {
    if (event.target.matches(SELECTS)) showParts(event.target);
    const fieldset = event.target.closest(COUNTED);
    if (fieldset) showCount(fieldset);
  });
  document.addEventListener("input", ({ target }) => target.matches("[data-find]") && find(target));
  document.addEventListener("click", ({ target }) => target.matches("[data-tick]") && tick(target));
  // Enter in a search field would send the form.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[data-find]")) event.preventDefault();
  });
  // Open the folded part of an invalid field.
  document.addEventListener("invalid", ({ target }) => target.closest("details")?.setAttribute("open", ""), true);
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-json-form]") || event.submitter?.hasAttribute("formaction")) return;
    event.preventDefault();
    const empty = emptyChoice(form);
    if (!empty) send(form);
    else {
      complain(form, empty.dataset.required);
      empty.closest("details")?.setAttribute("open", "");
      empty.querySelector("label:not([hidden]) input")?.focus();
    }
  });
}

// Shows the number of selected options, and which preset they are; some browsers keep selections across reloads.
function showCount(fieldset) {
  const chosen = fieldset.querySelectorAll("input:checked:not(:disabled)");
  const place = fieldset.querySelector("[data-chosen]");
  place.textContent = chosen.length ? `${chosen.length} selected` : (place.dataset.none ?? "");
  const values = Array.from(chosen, (box) => box.value).sort().join(" ");
  for (const button of fieldset.querySelectorAll("[data-tick]")) {
    const wanted = button.dataset.tick.split(" ").filter((value) => !value || boxOf(fieldset, value));
    button.setAttribute("aria-pressed", String(wanted.sort().join(" ") === values));
  }
}

function boxOf(fieldset, value) {
  return fieldset.querySelector(`input[value="${CSS.escape(value)}"]:not(:disabled)`);
}

// Hides the options without the text of a search field; selected ones stay.
function find(field) {
  const text = field.value.trim().toLowerCase();
  for (const label of document.getElementById(field.dataset.find).querySelectorAll("label")) {
    label.hidden = !label.textContent.toLowerCase().includes(text) && !label.querySelector(":checked");
  }
}

// Selects the options of a preset.
function tick(button) {
  const fieldset = button.closest(COUNTED);
  const wanted = button.dataset.tick.split(" ");
  for (const box of fieldset.querySelectorAll("input[type=checkbox]")) box.checked = wanted.includes(box.value);
  showCount(fieldset);
  button.form.dispatchEvent(new Event("input", { bubbles: true }));
}

function showParts(select) {
  const families = select.matches("[data-for-option-select]");
  const wanted = families ? select.value : (select.selectedOptions?.[0] ?? select).dataset.backend;
  for (const part of select.form.querySelectorAll(families ? "[data-for-option]" : "fieldset[data-backend]")) {
    part.hidden = (families ? part.dataset.forOption : part.dataset.backend) !== wanted;
    part.disabled = part.hidden;
  }
  for (const fieldset of select.form.querySelectorAll(COUNTED)) showCount(fieldset);
}

// Returns the first [data-required] group of check boxes with none ticked; its attribute says what to do.
function emptyChoice(form) {
  const groups = form.querySelectorAll("[data-required]");
  return Array.from(groups).find((group) => !group.querySelector("input:checked"));
}

// Sends a form to the API and returns its response; throws an Error with a message.
export function ask(form, path, headers = {}) {
  return call(`/api/v1${new URL(form.action).pathname}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body(form)),
  });
}

// Shows the result of `find` after each pause in filling a form; ignores responses to older states of the form.
export function whileFilled(form, find, show) {
  let timer = null;
  let latest = 0;
  const predict = async () => {
    const request = ++latest;
    const answer = await find();
    if (request === latest) show(answer);
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(predict, PAUSE_MS);
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
// Fields of a part with data-into are an object of that name, under what their names end with.
function body(form) {
  const values = JSON.parse(form.dataset.body ?? "{}");
  for (const field of form.elements) {
    if (!field.name || field.closest("fieldset:disabled") || (field.type === "radio" && !field.checked)) continue;
    const { into } = field.closest("[data-into]")?.dataset ?? {};
    put(into ? (values[into] ??= {}) : values, field.name.split(".").at(-1), field);
  }
  return values;
}

function put(values, name, field) {
  const { type } = field.dataset;
  const parts = field.value.split(",").map((part) => part.trim()).filter(Boolean);
  if (type === "boolean") values[name] = field.checked;
  else if (type === "list") {
    if (field.checked || field.type === "hidden") values[name] = [...(values[name] ?? []), field.value];
  } else if (field.value === "") return;
  else if (type === "number") values[name] = Number(field.value);
  else if (type === "texts") values[name] = parts;
  else if (type === "numbers") values[name] = parts.map(numeric);
  else values[name] = field.value;
}

// Text that is not a number is sent unchanged; the server responds with what it expected.
function numeric(text) {
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}
