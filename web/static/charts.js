// Charts: fetches the figures that come near the view, draws them in the page's theme, and keeps them so.
import { drawn, painted } from "./paint.js";
import { words } from "./problems.js";
import { replaceContents } from "./tables.js";

const CONFIG = {
  displayModeBar: false,
  displaylogo: false,
  plotlyServerURL: "",
  responsive: true,
  scrollZoom: false,
  showSendToCloud: false,
};

let plotly;

export function loadPlotly() {
  plotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.body.dataset.plotly;
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => {
      plotly = undefined;
      reject(new Error("The server does not answer."));
    });
    document.head.append(script);
  });
  return plotly;
}

const near = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      draw(target);
    }
  },
  { rootMargin: "50% 0px" },
);

// Draws the figures of that part anew, each when it comes near the view; hidden ones never do.
export function drawCharts(scope = document) {
  for (const figure of scope.querySelectorAll("[data-figure]")) {
    near.unobserve(figure);
    near.observe(figure);
  }
}

// Captions that wait for their drawing: the words never stand above another chart than theirs.
const captions = new WeakMap();

// The caption of a figure's next drawing; at once where nothing is drawn.
export function caption(figure, words) {
  captions.set(figure, words);
  if (!figure.querySelector(".plot").source || figure.hidden) showCaption(figure);
}

function showCaption(figure) {
  const words = captions.get(figure);
  if (words) replaceContents(figure.querySelector("figcaption"), words);
  captions.delete(figure);
}

// Where an address or a link has led: figures above it that are drawn later push it down, until the reader moves on.
let wanted;

function follow() {
  wanted = document.getElementById(location.hash.slice(1));
}
follow();
addEventListener("hashchange", follow);
for (const move of ["wheel", "touchmove", "keydown", "pointerdown"]) {
  addEventListener(move, () => (wanted = undefined), { passive: true });
}

function keepPlace(figure) {
  if (wanted?.compareDocumentPosition(figure) & Node.DOCUMENT_POSITION_PRECEDING) wanted.scrollIntoView();
}

const newest = new WeakMap();

async function draw(figure) {
  const plot = figure.querySelector(".plot");
  const question = {};
  // A faster answer to a later question must not be painted over.
  const isLate = () => newest.get(figure) !== question || !figure.isConnected;
  newest.set(figure, question);
  figure.ariaBusy = "true";
  try {
    const [Plotly, source] = await Promise.all([loadPlotly(), ask(figure.dataset.figure)]);
    if (isLate()) return;
    plot.source = source;
    if (!plot.querySelector(".main-svg")) plot.replaceChildren();
    await drawn(Plotly, plot, painted(source), CONFIG);
    if (source.data.some((trace) => trace.meta.opens)) openOnClick(plot);
  } catch (error) {
    if (isLate()) return;
    window.Plotly?.purge(plot);
    plot.source = undefined;
    plot.textContent = `The chart cannot be shown: ${error.message}`;
  }
  figure.ariaBusy = "false";
  showCaption(figure);
  keepPlace(figure);
}

// A click on a mark that stands for a matrix shows that matrix, everything else in the address as it is.
function openOnClick(plot) {
  plot.removeAllListeners?.("plotly_click");
  plot.on("plotly_click", ({ points }) => {
    const [{ data, customdata }] = points;
    if (!data.meta.opens || !customdata) return;
    const address = new URL(location);
    address.searchParams.delete(data.meta.opens);
    address.searchParams.set(data.meta.opens, customdata);
    location.assign(address);
  });
}

async function ask(url) {
  const response = await fetch(url).catch(() => {
    throw new Error("The server does not answer.");
  });
  const body = await response.json().catch(() => ({}));
  if (!response.ok || !body.data) throw new Error(words(body, response.status));
  return body;
}

document.addEventListener("themechange", async () => {
  const plots = [...document.querySelectorAll(".plot")].filter((plot) => plot.source);
  if (!plots.length) return;
  const Plotly = await loadPlotly();
  for (const plot of plots) await drawn(Plotly, plot, painted(plot.source), CONFIG);
});
