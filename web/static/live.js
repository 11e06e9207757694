// Live pages: one event stream per tab says that something changed, the page's own HTML says what.
import { say } from "./connection.js";
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
      await refresh();
    } catch {
      say("The server does not answer; trying again.");
      return;
    }
    if (!document.body.dataset.topics) stop();
  };
  const soon = () => {
    timer ??= setTimeout(update, Math.max(0, SHORTEST_MS - (performance.now() - last)));
  };

  const { event } = document.body.dataset;
  const stream = new EventSource(`/api/v1/events?topics=${encodeURIComponent(topics)}&after=${event}`);
  let poll = null;
  const stop = () => {
    stream.close();
    clearInterval(poll);
  };
  for (const kind of KINDS) stream.addEventListener(kind, soon);
  stream.addEventListener("open", () => {
    // Another server may have come back, which knows nothing of what this page has seen.
    if (poll !== null) soon();
    clearInterval(poll);
    poll = null;
  });
  stream.addEventListener("error", () => {
    poll ??= setInterval(soon, POLL_MS);
  });
  window.addEventListener("pagehide", stop);
}
