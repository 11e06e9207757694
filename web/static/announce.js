// What a page has become, in words for those who do not see it change: one polite region, at most once a second.

const SHORTEST_MS = 1000;
const NAMES_MAX = 4;

let last = -SHORTEST_MS;
let timer;
let waiting;

// Says it once a second has gone since the last time; of several that wait the newest. The same words are said once.
export function announce(sentence) {
  waiting = sentence;
  timer ??= setTimeout(() => {
    timer = undefined;
    last = performance.now();
    const place = document.getElementById("announced");
    if (place.textContent !== waiting) place.textContent = waiting;
  }, Math.max(0, SHORTEST_MS - (performance.now() - last)));
}

// `Changed: Answer, Verdicts one by one.` of parts of a page; empty where none of them has a name, or says it by itself.
export function changed(parts) {
  const labelled = parts.filter((part) => part.getAttribute("role") !== "status").map((part) => part.closest("[aria-label]"));
  const names = [...new Set(labelled.map((part) => part?.getAttribute("aria-label")).filter(Boolean))];
  const more = names.length - NAMES_MAX;
  const said = more > 0 ? [...names.slice(0, NAMES_MAX), `${more} more`] : names;
  return said.length ? `Changed: ${said.join(", ")}.` : "";
}
