// Upload of one matrix file, dropped anywhere on the page or picked, with progress. An edge list is previewed first,
// so that its direction is chosen and not guessed; any other file goes up at once.
const EDGE_LIST = /\.(txt|csv|tsv|edges|el)(\.(gz|bz2))?$/i;

export function wireUpload() {
  const form = document.querySelector("[data-upload]");
  if (!form) return;
  const input = form.querySelector("input[type=file]");
  const edges = form.querySelector("[data-edges]");
  let picked = null;
  edges.hidden = edges.disabled = true;

  const take = (file) => {
    picked = file;
    edges.hidden = edges.disabled = !EDGE_LIST.test(file.name);
    if (edges.hidden) upload(form, file);
    else preview(form, file);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (picked) upload(form, picked);
  });
  input.addEventListener("change", () => input.files.length && take(input.files[0]));
  edges.addEventListener("change", () => picked && preview(form, picked));

  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    form.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) form.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    form.classList.remove("dropping");
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  });
}

function upload(form, file) {
  send(form, file, form.action, (answer) => location.assign(`/matrices/${answer.id}`));
}

function preview(form, file) {
  const place = form.querySelector("[data-preview]");
  place.replaceChildren();
  send(form, file, `${form.action}/preview`, (answer) => show(place, answer));
}

function show(place, answer) {
  const facts = document.createElement("p");
  const reverse = Math.round(100 * answer.reciprocal);
  facts.textContent =
    `${answer.format}: ${answer.n_rows} × ${answer.n_cols}, ${answer.nnz} nonzeros, ` +
    `${answer.symmetric ? "symmetric" : `${reverse} % of them with one across the diagonal`}`;
  const notes = document.createElement("ul");
  notes.append(...answer.notes.map((note) => textIn("li", note)));
  const entries = textIn("pre", answer.first_entries.map((entry) => entry.join("  ")).join("\n"));
  entries.setAttribute("aria-label", "First entries: row, column, value");
  entries.tabIndex = 0;
  place.replaceChildren(facts, notes, entries);
}

function textIn(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function formBody(form, file) {
  const body = new FormData();
  body.append("file", file, file.name);
  for (const field of form.querySelectorAll("[data-edges] select")) {
    if (!field.matches(":disabled")) body.append(field.name, field.value);
  }
  return body;
}

let current = null;

function send(form, file, url, done) {
  const bar = form.querySelector("progress");
  const status = form.querySelector("[role=status]");
  const alert = form.querySelector("[role=alert]");
  const request = new XMLHttpRequest();
  current?.abort();
  current = request;
  alert.textContent = "";
  bar.hidden = false;
  bar.removeAttribute("value");
  status.textContent = `Sending ${file.name} …`;

  request.upload.addEventListener("progress", (event) => {
    if (!event.lengthComputable) return;
    bar.max = event.total;
    bar.value = event.loaded;
    if (event.loaded === event.total) {
      bar.removeAttribute("value");
      status.textContent = `Reading ${file.name} …`;
    }
  });
  const rest = (sentence) => {
    bar.hidden = true;
    status.textContent = "";
    alert.textContent = sentence;
  };
  request.addEventListener("error", () => rest("The connection broke before the file was sent. Try again."));
  request.addEventListener("load", () => {
    const answer = request.response ?? {};
    if (request.status >= 400) {
      rest(answer.detail ?? `The server answered ${request.status}.`);
      // The same file can be picked again once it is corrected.
      form.querySelector("input[type=file]").value = "";
      return;
    }
    rest("");
    done(answer);
  });
  request.responseType = "json";
  request.open("POST", url);
  request.send(formBody(form, file));
}
