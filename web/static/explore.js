// Pages of Explore: the row of chips, the columns of a heat table, and the drawer of a matrix.

const COLUMNS = "[data-columns]";
const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };

export function wireExplore() {
  const drawer = document.getElementById("drawer");
  if (drawer) watch(drawer);
  const view = document.getElementById("view");
  if (view) follow(view);
  for (const part of document.querySelectorAll("#pictures, #controls")) {
    new MutationObserver(roving).observe(part, { childList: true });
  }
  roving();
  document.addEventListener("keydown", keys);
  document.addEventListener("click", pressed);
  document.addEventListener("pointerdown", outside);
}

// Each group of columns has one stop for the Tab key; the arrow keys move it.
function roving() {
  for (const group of document.querySelectorAll(COLUMNS)) {
    const current = group.querySelector("[aria-current]") ?? group.firstElementChild;
    for (const link of group.children) link.tabIndex = link === current ? 0 : -1;
  }
}

function keys(event) {
  if (event.key === "Escape") escape(event);
  const group = event.target.closest?.(COLUMNS);
  if (!group || !(event.key in STEPS) || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = [...group.children];
  const place = links.indexOf(event.target) + STEPS[event.key];
  const next = links[Math.max(0, Math.min(place, links.length - 1))];
  for (const link of links) link.tabIndex = link === next ? 0 : -1;
  next.focus();
  event.preventDefault();
}

// Closes the open chip, else the drawer.
function escape(event) {
  const chip = document.querySelector("details.menu[open]");
  if (chip) {
    chip.open = false;
    if (chip.contains(event.target)) chip.querySelector("summary").focus();
  } else document.querySelector("#drawer .close")?.click();
}

function outside(event) {
  for (const chip of document.querySelectorAll("details.menu[open]")) {
    if (!chip.contains(event.target)) chip.open = false;
  }
}

// A pressed chip shows its new value at once; the figures follow.
function pressed(event) {
  const link = event.target.closest(".explore .options a[data-swap]");
  const chip = link?.closest("details");
  if (!chip) return;
  for (const other of link.parentElement.children) other.toggleAttribute("aria-current", false);
  link.setAttribute("aria-current", "true");
  chip.querySelector(".value").textContent = link.textContent;
  chip.open = false;
  chip.querySelector("summary").focus();
}

// Opening a drawer moves the focus into it, closing it moves the focus back to the link that opened it.
function watch(drawer) {
  let opener = "";
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-swap]");
    if (link?.search.includes("open=") && !drawer.contains(link)) opener = link.getAttribute("aria-label") ?? link.textContent;
  });
  let was = isOpen(drawer);
  new MutationObserver(() => {
    const now = isOpen(drawer);
    if (now && !drawer.contains(document.activeElement)) drawer.querySelector(".drawer > h2").focus({ preventScroll: true });
    if (was && !now) openerOf(opener)?.focus();
    was = now;
  }).observe(drawer, { childList: true });
}

// A figure that somebody opens comes into view, below the bar.
function follow(view) {
  let asked = false;
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-swap]");
    if (link) asked = Boolean(link.closest(".view-links"));
  });
  new MutationObserver(() => {
    if (asked && view.firstElementChild) {
      view.scrollIntoView();
      // Before its drawing has come, the page may be too short.
      view.querySelector("img")?.addEventListener("load", () => view.scrollIntoView(), { once: true });
    }
    asked = false;
  }).observe(view, { childList: true });
}

function isOpen(drawer) {
  return Boolean(drawer.firstElementChild);
}

function openerOf(name) {
  const links = [...document.querySelectorAll("main a[data-swap]")];
  return links.find((link) => (link.getAttribute("aria-label") ?? link.textContent) === name);
}
