// The field for the name of a matrix: suggests names in the browser's list below it, and downloads a matrix of the collection.
import { call, complain } from "./actions.js";
import { whileFilled } from "./forms.js";

const MOST = 10;

export function wireSuggest() {
  const form = document.querySelector("[data-ask]");
  if (!form) return;
  const input = form.elements.namedItem("name");
  const find = () => Promise.all([named(input.value, "matrices", "name"), named(input.value, "collection", "id")]);
  whileFilled(form, find, (found) => input.list.replaceChildren(...found.flat()));
  form.addEventListener("submit", (event) => {
    if (!input.value.includes("/")) return;
    event.preventDefault();
    ask(form, input.value.trim());
  });
}

// Opens the answer on a matrix of this server, or else downloads the matrix of that name.
async function ask(form, name) {
  const query = new URLSearchParams(new FormData(form));
  const page = `${form.action}?${query}`;
  query.delete("name");
  complain(form, "");
  const known = await fetch(page, { redirect: "manual" }).catch(() => null);
  if (known?.type === "opaqueredirect") {
    location.assign(page);
    return;
  }
  try {
    const body = JSON.stringify({ name });
    const matrix = await call("/api/v1/matrices/fetch", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    location.assign(`/matrices/${matrix.id}?${query}`);
  } catch (error) {
    complain(form, error.message);
  }
}

// Returns options for the names of a list that contain a text; without a response there are none.
async function named(text, list, key) {
  const query = new URLSearchParams({ q: text.trim(), limit: MOST });
  if (list === "matrices") query.set("recorded", "true");
  const { items } = await call(`/api/v1/${list}?${query}`).catch(() => ({ items: [] }));
  return items.map((item) => option(item[key], item.nnz));
}

function option(name, nnz) {
  const element = document.createElement("option");
  element.value = name;
  element.textContent = nnz === null ? "" : `${new Intl.NumberFormat("en").format(nnz)} nonzeros`;
  return element;
}
