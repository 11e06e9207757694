// Switches between views of a page and keeps the scroll position: the server renders, this replaces what differs.
import { announce, changed } from "./announce.js";
import { swapFigure } from "./charts.js";
import { say } from "./connection.js";
import { replaceContents } from "./tables.js";

const AGAIN_MS = 3000;
const TYPING_MS = 300;

// The newest request; the reader's own while it has no answer; the timer of a field in which the reader types; and whether a
// refresh waits for the answer.
let latest = null;
let chosen = null;
let typing = null;
let refreshAfter = false;

// Last HTML of each part from the server; opening or closing details is not a difference.
const shown = new WeakMap();

// Refreshes the page; waits if the reader has requested another view.
export async function refresh() {
  refreshAfter = chosen !== null;
  if (!refreshAfter) await show(location.href);
}

// Fetches a page and replaces every [data-live] element that differs; true if this was still the newest request.
async function show(url) {
  const request = (latest = {});
  const response = await fetch(url, { headers: { Accept: "text/html" } });
  // A proxy answers for a server that is away.
  if (response.status >= 502) throw new Error(`The server responded with status ${response.status}.`);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  await released;
  if (request !== latest) return false;
  say("");
  document.title = fresh.title;
  const parts = [...document.querySelectorAll("[data-live]")];
  if (!response.ok || parts.some((part) => !fresh.getElementById(part.id)) || hasMore(fresh)) {
    location.assign(url);
    return false;
  }
  const differing = parts.filter((part) => swap(part, fresh.getElementById(part.id)));
  const { topics = "", says = "" } = fresh.body.dataset;
  const sentence = says === document.body.dataset.says ? changed(differing) : says;
  if (differing.length && sentence) announce(sentence);
  Object.assign(document.body.dataset, { topics, says });
  for (const field of document.querySelectorAll("[data-follow]")) follow(field, fresh.getElementById(field.id));
  return true;
}

// Whether a fetched page has parts for which this one has no place.
function hasMore(fresh) {
  const parts = [...fresh.querySelectorAll("[data-live]")].filter((part) => !part.parentElement.closest("[data-live]"));
  return parts.some((part) => !document.getElementById(part.id));
}

// Fields outside the replaced parts show the state of the address, except the one in which the reader types.
function follow(field, fresh) {
  const isTyped = typing !== null && field === document.activeElement;
  if (fresh && !isTyped && field.value !== fresh.value) field.value = fresh.value;
}

// Whether there was something to replace.
function swap(part, fresh) {
  if (fresh.hasAttribute("data-figure")) return swapFigure(part, fresh);
  const html = fresh.innerHTML;
  const version = fresh.dataset.version;
  if (version === undefined ? shown.get(part) === html : part.dataset.version === version) return false;
  shown.set(part, html);
  if (version !== undefined) part.dataset.version = version;
  const focused = part.contains(document.activeElement) ? selector(document.activeElement) : "";
  replaceContents(part, fresh.childNodes);
  if (focused) part.querySelector(focused)?.focus();
  return true;
}

// Returns a selector that finds the same control after a swap.
function selector(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  return element.hasAttribute("href") ? `[href="${CSS.escape(element.getAttribute("href"))}"]` : "";
}

// Shows another view, with its address at once; retries until the server responds or another view is requested.
async function go(url) {
  const request = (chosen = {});
  if (url !== location.href) history.pushState(null, "", url);
  document.body.toggleAttribute("data-waiting", true);
  try {
    await show(url);
  } catch {
    if (chosen !== request) return;
    say("The server does not respond. Your selection appears when it does.");
    setTimeout(() => chosen === request && go(url), AGAIN_MS);
    return;
  }
  if (chosen !== request) return;
  chosen = null;
  document.body.toggleAttribute("data-waiting", false);
  if (refreshAfter) await refresh().catch(() => {});
}

// Resolves when the pointer is released, because replacing a pressed element would lose the click.
let released = Promise.resolve();

function press(event) {
  if (!event.target.closest("a, button, label, summary")) return;
  released = new Promise((resolve) => {
    const release = () => setTimeout(resolve);
    for (const kind of ["pointerup", "pointercancel"]) document.addEventListener(kind, release, { once: true });
  });
}

export function wireNavigation() {
  for (const part of document.querySelectorAll("[data-live]")) shown.set(part, part.innerHTML);
  document.addEventListener("pointerdown", press);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-swap]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    stopTyping();
    go(link.href);
  });
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (event.target.hasAttribute("data-instant")) return;
    if (event.target.hasAttribute("data-shows")) go(new URL(event.target.dataset.shows, location.href).href);
    if (form?.matches("form[data-swap]") && form.reportValidity()) go(formUrl(form));
  });
  document.addEventListener("input", (event) => {
    const { form } = event.target;
    if (!event.target.hasAttribute("data-instant")) return;
    stopTyping();
    typing = setTimeout(() => {
      typing = null;
      // The server takes the nearest number and says so; an empty field waits.
      const takes = form.checkValidity() || (event.target.dataset.instant === "clamped" && event.target.value);
      if (takes && formUrl(form) !== location.href) go(formUrl(form));
    }, TYPING_MS);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-swap]") || event.submitter?.hasAttribute("formaction")) return;
    event.preventDefault();
    stopTyping();
    go(formUrl(event.target));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-untick]");
    if (button) untick(button.closest("fieldset"));
  });
  window.addEventListener("popstate", () => go(location.href));
}

function stopTyping() {
  clearTimeout(typing);
  typing = null;
}

// Clears all boxes; the view stays until the reader checks one, because an address without matrices means all.
function untick(fieldset) {
  for (const box of fieldset.querySelectorAll("input:checked")) box.checked = false;
}

// Leaves empty fields out of the address.
function formUrl(form) {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  const url = new URL(form.action);
  url.search = query.toString();
  return url.href;
}
