// Moves between views of one page without losing the place: the server renders, this swaps what differs.
import { drawCharts } from "./charts.js";

let latest = 0;

// What the server last sent for a part: readers open and close things in it, which is no difference.
const shown = new WeakMap();

// Fetches a page and replaces every [data-live] element that differs; true if this was still the newest request.
export async function refresh(url) {
  const request = ++latest;
  const response = await fetch(url, { headers: { Accept: "text/html" } });
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  if (request !== latest) return false;
  document.title = fresh.title;
  const parts = [...document.querySelectorAll("[data-live]")];
  if (!response.ok || parts.some((part) => !fresh.getElementById(part.id))) {
    location.assign(url);
    return false;
  }
  for (const part of parts) swap(part, fresh.getElementById(part.id));
  document.body.dataset.topics = fresh.body.dataset.topics ?? "";
  return true;
}

function swap(part, fresh) {
  if (fresh.hasAttribute("data-figure")) {
    swapFigure(part, fresh);
    return;
  }
  const html = fresh.innerHTML;
  const version = fresh.dataset.version;
  if (version === undefined ? shown.get(part) === html : part.dataset.version === version) return;
  shown.set(part, html);
  if (version !== undefined) part.dataset.version = version;
  const focused = part.contains(document.activeElement) ? selector(document.activeElement) : "";
  const details = new Map([...part.querySelectorAll("details[id]")].map((element) => [element.id, element.open]));
  part.replaceChildren(...fresh.childNodes);
  for (const element of part.querySelectorAll("details[id]")) element.open = details.get(element.id) ?? element.open;
  if (focused) part.querySelector(focused)?.focus();
  drawCharts(part);
}

// What finds the same control again after a swap.
function selector(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  return element.hasAttribute("href") ? `[href="${CSS.escape(element.getAttribute("href"))}"]` : "";
}

// The drawing stays in place while its figure changes; only the words around it are replaced.
function swapFigure(part, fresh) {
  part.querySelector("figcaption").replaceChildren(...fresh.querySelector("figcaption").childNodes);
  for (const link of fresh.querySelectorAll("a[id]")) {
    part.querySelector(`#${CSS.escape(link.id)}`)?.setAttribute("href", link.getAttribute("href"));
  }
  const same = part.dataset.figure === fresh.dataset.figure && part.dataset.version === fresh.dataset.version;
  part.hidden = fresh.hidden;
  part.dataset.figure = fresh.dataset.figure;
  part.dataset.version = fresh.dataset.version;
  if (!same) drawCharts(part.parentElement);
}

async function go(url) {
  try {
    if (await refresh(url)) history.pushState(null, "", url);
  } catch {
    location.assign(url);
  }
}

export function wireNavigation() {
  for (const part of document.querySelectorAll("[data-live]")) shown.set(part, part.innerHTML);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-swap]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(link.href);
  });
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (form?.matches("form[data-swap]") && form.reportValidity()) go(formUrl(form));
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-swap]")) return;
    event.preventDefault();
    go(formUrl(event.target));
  });
  window.addEventListener("popstate", () => refresh(location.href).catch(() => location.reload()));
}

// Empty fields say nothing and stay out of the address.
function formUrl(form) {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  const url = new URL(form.action);
  url.search = query.toString();
  return url.href;
}
