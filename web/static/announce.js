// Announces page changes to screen readers: one polite region, at most once per second.

const SHORTEST_MS = 1000;
const NAMES_MAX = 4;

let last = -SHORTEST_MS;
let timer;
let waiting;

// Announces the newest waiting sentence when a second has passed since the last one; never the same sentence twice.
export function announce(sentence) {
  waiting = sentence;
  timer ??= setTimeout(() => {
    timer = undefined;
    last = performance.now();
    const place = document.getElementById("announced");
    if (place.textContent !== waiting) place.textContent = waiting;
  }, Math.max(0, SHORTEST_MS - (performance.now() - last)));
}

// Returns `Changed: Overall ranking, Verdicts by matrix.`; empty if no part has a label, or if it announces itself.
export function changed(parts) {
  const labelled = parts.filter((part) => part.getAttribute("role") !== "status").map((part) => part.closest("[aria-label]"));
  const names = [...new Set(labelled.map((part) => part?.getAttribute("aria-label")).filter(Boolean))];
  const more = names.length - NAMES_MAX;
  const listed = more > 0 ? [...names.slice(0, NAMES_MAX), `${more} more`] : names;
  return listed.length ? `Changed: ${listed.join(", ")}.` : "";
}
