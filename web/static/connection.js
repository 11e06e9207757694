// What is said at the lower edge of every page while the server does not answer; empty takes it away.
export function say(sentence) {
  const place = document.getElementById("connection");
  if (place.textContent !== sentence) place.textContent = sentence;
}
