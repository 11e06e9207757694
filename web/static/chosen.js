// Selected matrices of the catalogue stay selected while it is searched, sorted, and refreshed.

const BOX = "[name=matrix_ids][type=checkbox]";

export function wireChosen() {
  const form = document.getElementById("chosen");
  if (!form) return;
  const catalogue = document.getElementById("catalogue");
  const elsewhere = form.querySelector("[data-elsewhere]");
  const count = form.querySelector("[data-count]");
  const idle = count.textContent;
  const chosen = new Set();

  const show = () => {
    const seen = new Set();
    for (const box of catalogue.querySelectorAll(BOX)) {
      box.checked = chosen.has(box.value);
      seen.add(box.value);
    }
    elsewhere.replaceChildren(...[...chosen].filter((id) => !seen.has(id)).map(hidden));
    count.textContent = chosen.size ? `${chosen.size} ${chosen.size === 1 ? "matrix" : "matrices"} selected` : idle;
    for (const button of form.querySelectorAll("button")) button.disabled = !chosen.size;
  };
  // Some browsers keep the ticks of a page that is loaded again.
  for (const box of catalogue.querySelectorAll(`${BOX}:checked`)) chosen.add(box.value);
  catalogue.addEventListener("change", ({ target }) => {
    if (!target.matches(BOX)) return;
    if (target.checked) chosen.add(target.value);
    else chosen.delete(target.value);
    show();
  });
  document.addEventListener("uploaded", ({ detail }) => {
    chosen.add(detail);
    show();
  });
  new MutationObserver(show).observe(catalogue, { childList: true });
  show();
}

function hidden(id) {
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name: "matrix_ids", value: id });
  field.dataset.type = "list";
  return field;
}
