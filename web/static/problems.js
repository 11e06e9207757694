// What a problem document says, and what to do in the words of the pages, which come with every page.
export function words(problem, status) {
  const hints = JSON.parse(document.body.dataset.hints);
  const hint = hints[problem.hint_code] ?? problem.hint ?? "";
  return `${problem.detail ?? `The server answered ${status}.`} ${hint}`.trim();
}
