// The tabs of a long page: the one whose part is in view is the current one.

const TABS = 'nav.tabs a[href^="#"]';
const REACHED_PX = 160;

export function wireParts() {
  if (!document.querySelector(TABS)) return;
  document.addEventListener("scroll", mark, { passive: true });
  // The end of the page may be in view before a part at its end reaches the top.
  window.addEventListener("hashchange", () => requestAnimationFrame(() => mark() || current(location.hash)));
  if (location.hash) current(location.hash);
}

// Whether parts have a place on this page: the last one above this line is the current one.
function mark() {
  const tabs = [...document.querySelectorAll(TABS)];
  const tops = tabs.map((tab) => document.querySelector(tab.hash)?.getBoundingClientRect().top ?? Infinity);
  const place = tops.findLastIndex((top) => top <= REACHED_PX);
  current(tabs[Math.max(place, 0)].hash);
}

function current(hash) {
  const tabs = [...document.querySelectorAll(TABS)];
  if (!tabs.some((tab) => tab.hash === hash)) return;
  for (const tab of tabs) {
    if (tab.hash === hash) tab.setAttribute("aria-current", "location");
    else tab.removeAttribute("aria-current");
  }
}
