// Upload of one matrix file, dropped anywhere on the page or picked, with progress. The content decides what it is: an
// edge list is previewed, so that its direction is chosen and not guessed; any other file goes up at once.
import { words } from "./problems.js";

// Endings of formats that leave nothing open. Any other file is previewed before it goes up.
const COMPLETE = /\.(mtx|mm|tar\.gz|tgz|npz|mat|hb|rb|[rp][sua]a)(\.(gz|bz2))?$/i;

// What only an edge list leaves open.
const OPEN = ["choose_direction", "choose_duplicates"];

export function wireUpload() {
  const form = document.querySelector("[data-upload]");
  if (!form) return;
  const input = form.querySelector("input[type=file]");
  const edges = form.querySelector("[data-edges]");
  const place = form.querySelector("[data-preview]");
  let picked = null;

  const ask = (wanted) => {
    edges.hidden = edges.disabled = !wanted;
  };
  const upload = () => send(form, picked, form.action, (answer) => location.assign(`/matrices/${answer.id}`), refused);
  const preview = () => {
    place.replaceChildren();
    send(form, picked, `${form.action}/preview`, previewed, refused);
  };
  const previewed = (answer) => {
    if (answer.format !== "edge list") {
      upload();
      return;
    }
    ask(true);
    show(place, answer);
  };
  const refused = (problem) => {
    if (OPEN.includes(problem.hint_code)) ask(true);
  };
  const take = (file) => {
    picked = file;
    hold(input, file);
    ask(false);
    for (const select of edges.querySelectorAll("select")) select.selectedIndex = 0;
    place.replaceChildren();
    if (COMPLETE.test(file.name)) upload();
    else preview();
  };

  ask(false);
  form.querySelector("[name=directed]").required = true;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (picked) upload();
  });
  // Emptied, the field tells of the same file again once that is corrected.
  input.addEventListener("click", () => (input.value = ""));
  input.addEventListener("cancel", () => picked && hold(input, picked));
  input.addEventListener("change", () => input.files.length && take(input.files[0]));
  edges.addEventListener("change", () => picked && preview());
  wireDrop(form, take);
}

// Shows the name of a file that was dropped as if it had been picked.
function hold(input, file) {
  const files = new DataTransfer();
  files.items.add(file);
  input.files = files.files;
}

function wireDrop(form, take) {
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

function show(place, answer) {
  const facts = document.createElement("p");
  const reverse = Math.round(100 * answer.reciprocal);
  facts.textContent =
    `${answer.format}: ${answer.n_rows} × ${answer.n_cols}, ${answer.nnz} nonzeros, ` +
    `${answer.symmetric ? "symmetric" : `${reverse} % of them with one across the diagonal`}`;
  const notes = document.createElement("ul");
  notes.append(...answer.notes.map((note) => textIn("li", note)));
  const entries = textIn("pre", answer.first_entries.map((entry) => entry.join("  ")).join("\n"));
  const caption = textIn("p", "First entries: row, column, value; rows and columns from 0.");
  caption.className = "small quiet";
  caption.id = "first-entries";
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
  for (const field of form.querySelectorAll("[data-edges] select")) {
    if (!field.matches(":disabled")) body.append(field.name, field.value);
  }
  return body;
}

let current = null;

function send(form, file, url, done, refused) {
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
  const broken = "The file was not sent: the connection broke, or the file has changed. Choose it again.";
  request.addEventListener("error", () => rest(broken));
  request.addEventListener("load", () => {
    const answer = request.response ?? {};
    if (request.status >= 400) {
      rest(words(answer, request.status));
      refused(answer);
      return;
    }
    rest("");
    done(answer);
  });
  request.responseType = "json";
  request.open("POST", url);
  request.send(formBody(form, file));
}
