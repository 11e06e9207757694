// Returns the message of a problem document with a hint; every page carries the hints.
export function words(problem, status) {
  const hints = JSON.parse(document.body.dataset.hints);
  const hint = hints[problem.hint_code] ?? problem.hint ?? "";
  return `${problem.detail ?? `The server responded with status ${status}.`} ${hint}`.trim();
}
