// Shows a sentence at the lower edge of the page while the server does not respond; empty removes it.
export function say(sentence) {
  const place = document.getElementById("connection");
  if (place.textContent !== sentence) place.textContent = sentence;
}
