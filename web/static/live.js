// Live pages: one event stream per tab reports changes; the HTML of the page has the new content.
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
      say("The server does not respond. Retrying …");
      return;
    }
    if (!document.body.dataset.topics) end();
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
  // What is over needs no room for more rows; the head keeps its height, so that nothing in view moves.
  const end = () => {
    stop();
    const foot = document.querySelector(".job-foot");
    if (!foot || foot.contains(document.activeElement)) return;
    const body = document.querySelector(".job-body");
    body.classList.add("over");
    // It was below the view: it appears at its place instead of moving there.
    body.after(foot);
  };
  for (const kind of KINDS) stream.addEventListener(kind, soon);
  stream.addEventListener("open", () => {
    // A restarted server does not know which events this page has received.
    if (poll !== null) soon();
    clearInterval(poll);
    poll = null;
  });
  stream.addEventListener("error", () => {
    poll ??= setInterval(soon, POLL_MS);
  });
  // Numbers that no event reports grow old: the wait of a job, or a worker that is lost.
  const { refreshS } = document.querySelector("[data-refresh-s]")?.dataset ?? {};
  if (refreshS) setInterval(() => document.hidden || soon(), 1000 * refreshS);
  window.addEventListener("pagehide", stop);
}
