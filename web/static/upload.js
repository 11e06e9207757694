// Uploads matrix files, dropped or picked, one after the other, with progress. The server detects the format of a file
// and asks for missing information; this script guesses nothing.
import { words } from "./problems.js";

// Endings of formats with complete information. Any other file is previewed before its upload.
const COMPLETE = /\.(mtx|mm|tar\.gz|tgz|npz|mat|graphml|gexf|petsc|hb|rb|[rp][sua]a)(\.(gz|bz2))?$/i;

export function wireUpload() {
  const form = document.querySelector("[data-upload]");
  if (!form) return;
  const input = form.querySelector("input[type=file]");
  const asked = form.querySelector("[data-asked]");
  const options = asked.querySelectorAll("[data-option]");
  const place = form.querySelector("[data-preview]");
  const skip = form.querySelector("[data-skip]");
  const sent = form.querySelector("[data-sent]");
  const together = form.querySelector("[data-together]");
  let waiting = [];
  let picked = null;
  let total = 0;
  let ready = [];

  // Shows the fields of these options and of earlier questions about this file; without names it shows none. Hidden fields
  // are not sent.
  let shown = [];
  const ask = (added) => {
    const names = (shown = added.length ? [...shown, ...added] : []);
    asked.hidden = asked.disabled = !names.length;
    asked.toggleAttribute("data-shown", names.length > 0);
    for (const option of options) {
      option.hidden = !names.includes(option.dataset.option);
      for (const select of option.querySelectorAll("select")) select.disabled = option.hidden;
    }
    skip.hidden = total < 2;
    form.querySelector("[data-asked-of]").textContent = names.length && total > 1 ? `(${picked.name})` : "";
  };
  const called = () => (total > 1 ? `${picked.name}, ${total - waiting.length} of ${total}` : picked.name);
  const upload = () => send(form, picked, called(), "", uploaded, refused);
  const preview = () => {
    place.replaceChildren();
    send(form, picked, called(), "/preview", previewed, refused);
  };
  const previewed = (answer) => {
    // After a change of an option, the preview waits for the reader to press the button.
    if (answer.asks.length) ask(answer.asks);
    if (asked.hidden) upload();
    else show(place, answer);
  };
  const uploaded = (answer) => {
    const page = `/matrices/${answer.id}${question()}`;
    if (total < 2) {
      location.assign(page);
      return;
    }
    const link = textIn("a", answer.name);
    link.href = page;
    note(link, ` ${answer.state}`);
    ready.push(answer.id);
    together.hidden = false;
    const one = together.querySelector("a");
    one.textContent = ready.length > 1 ? `Measure these ${ready.length} as one job` : "Measure it";
    one.search = new URLSearchParams(ready.map((id) => ["matrix_ids", id]));
    document.dispatchEvent(new CustomEvent("uploaded", { detail: answer.id }));
    next();
  };
  const refused = (problem, sentence) => {
    if (problem.asks?.length) {
      ask(problem.asks);
      complain(form, sentence);
    } else if (total > 1 && asked.hidden) {
      note(`${picked.name}: `, sentence);
      next();
    } else complain(form, sentence);
  };
  const note = (...parts) => {
    const item = document.createElement("li");
    item.append(...parts);
    sent.append(item);
    sent.hidden = false;
  };
  const next = () => {
    ask([]);
    place.replaceChildren();
    for (const select of asked.querySelectorAll("select")) select.selectedIndex = 0;
    picked = waiting.shift() ?? null;
    if (!picked) return;
    hold(input, picked);
    if (COMPLETE.test(picked.name)) upload();
    else preview();
  };
  const take = (files) => {
    // Files with missing information come last.
    waiting = [...files].sort((one, other) => COMPLETE.test(other.name) - COMPLETE.test(one.name));
    total = waiting.length;
    ready = [];
    sent.replaceChildren();
    sent.hidden = together.hidden = true;
    next();
  };

  ask([]);
  input.multiple = true;
  for (const name of ["directed", "field", "header", "ids"]) form.querySelector(`[name=${name}]`).required = true;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (picked) upload();
  });
  skip.addEventListener("click", () => {
    complain(form, "");
    next();
  });
  // An empty field reports a change even if the reader picks the same file again.
  input.addEventListener("click", () => (input.value = ""));
  input.addEventListener("cancel", () => picked && hold(input, picked));
  input.addEventListener("change", () => input.files.length && take(input.files));
  asked.addEventListener("change", () => picked && preview());
  // Warn before waiting files are lost.
  addEventListener("beforeunload", (event) => waiting.length && event.preventDefault());
  wireDrop(form, take);
}

// Returns the query with the device and the number of SpMVs in the form above; the page of the matrix answers for these.
function question() {
  const query = new URLSearchParams();
  for (const field of document.querySelectorAll("[data-ask] :is([name=device]:checked, [name=n]:valid)")) {
    query.append(field.name, field.value);
  }
  return query.size ? `?${query}` : "";
}

// Puts a dropped file into the file field.
function hold(input, file) {
  const files = new DataTransfer();
  files.items.add(file);
  input.files = files.files;
}

function wireDrop(form, take) {
  const zone = form.closest("[data-drop]");
  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    zone.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) zone.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    zone.classList.remove("dropping");
    zone.scrollIntoView({ block: "nearest" });
    if (event.dataTransfer.files.length) take(event.dataTransfer.files);
  });
}

function complain(form, sentence) {
  form.querySelector("[role=alert]").textContent = sentence;
}

function show(place, answer) {
  const facts = document.createElement("p");
  const reverse = Math.round(100 * answer.reciprocal);
  facts.textContent =
    `${answer.format}: ${answer.n_rows} × ${answer.n_cols}, ${answer.nnz} nonzeros, ` +
    `${answer.symmetric ? "symmetric" : `${reverse} % with a transposed counterpart`}`;
  const notes = document.createElement("ul");
  notes.append(...answer.notes.map((note) => textIn("li", note)));
  const entries = textIn("pre", answer.first_entries.map((entry) => entry.join("  ")).join("\n"));
  const caption = textIn("p", "First nonzeros: row, column, value (indices from 0).");
  caption.className = "small quiet";
  caption.id = "first-entries";
  entries.setAttribute("role", "region");
  entries.setAttribute("aria-labelledby", caption.id);
  entries.tabIndex = 0;
  place.replaceChildren(facts, notes, caption, entries);
}

function textIn(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function formBody(form, file) {
  const body = new FormData();
  body.append("file", file, file.name);
  for (const field of form.querySelectorAll("[data-asked] select")) {
    if (!field.matches(":disabled")) body.append(field.name, field.value);
  }
  return body;
}

let current = null;

// Posts the file, which a reader knows as `called`, to the API's address of the form's page, and below it to `path`.
function send(form, file, called, path, done, refused) {
  const bar = form.querySelector("progress");
  const status = form.querySelector("[role=status]");
  const request = new XMLHttpRequest();
  current?.abort();
  current = request;
  complain(form, "");
  bar.hidden = false;
  bar.removeAttribute("value");
  status.textContent = `Sending ${called} …`;

  request.upload.addEventListener("progress", (event) => {
    if (!event.lengthComputable) return;
    bar.max = event.total;
    bar.value = event.loaded;
    if (event.loaded === event.total) {
      bar.removeAttribute("value");
      status.textContent = `Reading ${called} …`;
    }
  });
  const rest = () => {
    bar.hidden = true;
    status.textContent = "";
  };
  request.addEventListener("error", () => {
    rest();
    refused({}, "Upload failed: the connection broke, or the file changed. Choose the file again.");
  });
  request.addEventListener("load", () => {
    const answer = request.response ?? {};
    rest();
    if (request.status >= 400) refused(answer, words(answer, request.status));
    else done(answer);
  });
  request.responseType = "json";
  request.open("POST", `/api/v1${new URL(form.action).pathname}${path}`);
  request.send(formBody(form, file));
}
