// Tables in closed <details>: each one is fetched from its page when the reader opens it.
import { words } from "./problems.js";

const PLACE = ":scope > [data-table]";

export function wireTables() {
  document.addEventListener("toggle", (event) => fill(event.target), true);
}

async function fill(details) {
  const place = details.matches("details[open]") && details.querySelector(PLACE);
  if (!place || place.dataset.filled) return;
  place.ariaBusy = "true";
  try {
    replaceContents(place, await fetchTable(place.dataset.table));
    place.dataset.filled = "true";
  } catch (error) {
    place.textContent = `Table not available: ${error.message} Close and open it to retry.`;
  }
  place.ariaBusy = "false";
}

async function fetchTable(url) {
  const response = await fetch(url, { headers: { Accept: "text/html" } }).catch(() => {
    throw new Error("The server does not respond.");
  });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const table = page.getElementById("table");
  if (!table) throw new Error(words({}, response.status));
  return table.childNodes;
}

// Replaces the content of an element; open details stay open, with their old content until the new one arrives.
export function replaceContents(element, nodes) {
  const before = new Map([...element.querySelectorAll("details[id]")].map((details) => [details.id, details]));
  element.replaceChildren(...nodes);
  for (const details of element.querySelectorAll("details[id]")) {
    const old = before.get(details.id);
    if (!old) continue;
    const [shown, place] = [old, details].map((each) => each.querySelector(PLACE));
    if (old.open && shown && place) place.replaceChildren(...shown.childNodes);
    details.open = old.open;
  }
}
