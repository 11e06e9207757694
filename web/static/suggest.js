// Suggests matching names of the collection in the browser's list below the field.
import { call } from "./actions.js";
import { whileFilled } from "./forms.js";

const MOST = 20;

export function wireSuggest() {
  const form = document.querySelector("[data-suggest]");
  if (!form) return;
  const input = form.querySelector("input[list]");
  const find = () => {
    const query = new URLSearchParams({ q: input.value.trim(), limit: MOST });
    // Without a response the names stay.
    return call(`/api/v1/collection?${query}`).then(({ items }) => items, () => null);
  };
  whileFilled(form, find, (items) => items && input.list.replaceChildren(...items.map(option)));
}

function option({ id, nnz }) {
  const element = document.createElement("option");
  element.value = id;
  element.textContent = nnz === null ? "" : `${new Intl.NumberFormat("en").format(nnz).replaceAll(",", "\u202f")} nonzeros`;
  return element;
}
