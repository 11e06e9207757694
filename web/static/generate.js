// Shows the expected size of a generated matrix while its parameters change.
import { ask, whileFilled } from "./forms.js";

const SIZES = ["B", "kB", "MB", "GB", "TB"];

export function wireGenerate() {
  const form = document.querySelector("[data-generate]");
  if (!form) return;
  const place = form.querySelector("[data-expected]");
  const find = () => ask(form, "/preview").then(expectation, (error) => error.message);
  whileFilled(form, find, (sentence) => (place.textContent = sentence));
}

function expectation({ nnz, bytes }) {
  const grouped = new Intl.NumberFormat("en").format(nnz);
  return `About ${grouped} nonzeros, ${size(bytes)} of columns and values.`;
}

function size(bytes) {
  const step = bytes < 1 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${Number((bytes / 1000 ** step).toPrecision(3))}\u202f${SIZES[step]}`;
}
