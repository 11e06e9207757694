// Live pages: one event stream per tab says that something changed, the page's own HTML says what.
import { refresh } from "./navigation.js";

const KINDS = ["progress", "measurement", "trace", "state"];
const SHORTEST_MS = 500;
const POLL_MS = 3000;

export function wireLive() {
  const topics = document.body.dataset.topics;
  if (!topics) return;
  let timer = null;
  let last = 0;

  const update = async () => {
    timer = null;
    last = performance.now();
    try {
      await refresh(location.href);
    } catch {
      say("The server does not answer; trying again.");
      return;
    }
    say("");
    if (!document.body.dataset.topics) stop();
  };
  const soon = () => {
    timer ??= setTimeout(update, Math.max(0, SHORTEST_MS - (performance.now() - last)));
  };

  const stream = new EventSource(`/api/v1/events?topics=${encodeURIComponent(topics)}`);
  let poll = null;
  const stop = () => {
    stream.close();
    clearInterval(poll);
  };
  for (const kind of KINDS) stream.addEventListener(kind, soon);
  stream.addEventListener("open", () => {
    // What happened between rendering and connecting was not told.
    soon();
    clearInterval(poll);
    poll = null;
  });
  stream.addEventListener("error", () => {
    poll ??= setInterval(soon, POLL_MS);
  });
  window.addEventListener("pagehide", stop);
}

function say(sentence) {
  const place = document.getElementById("connection");
  if (place.textContent !== sentence) place.textContent = sentence;
}
