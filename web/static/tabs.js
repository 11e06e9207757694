// A bar of tabs that is wider than the screen: the current tab is in view, and faded ends show that the bar scrolls.

const BARS = "nav.tabs";

export function wireTabs() {
  if (!document.querySelector(BARS)) return;
  showCurrent();
  document.addEventListener("scroll", (event) => event.target.matches?.(BARS) && fade(event.target), { capture: true, passive: true });
  window.addEventListener("resize", () => document.querySelectorAll(BARS).forEach(fade));
  // A new selection replaces the bar above a study.
  const controls = document.getElementById("controls");
  if (controls) new MutationObserver(showCurrent).observe(controls, { childList: true });
}

function showCurrent() {
  for (const bar of document.querySelectorAll(BARS)) {
    const tab = bar.querySelector("[aria-current]");
    if (tab) bar.scrollLeft += tab.getBoundingClientRect().left - bar.getBoundingClientRect().left - (bar.clientWidth - tab.offsetWidth) / 2;
    fade(bar);
  }
}

function fade(bar) {
  bar.classList.toggle("more-left", bar.scrollLeft > 1);
  bar.classList.toggle("more-right", bar.scrollLeft + bar.clientWidth < bar.scrollWidth - 1);
}
