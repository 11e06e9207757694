// Charts: fetches figures near the viewport and draws them in the theme of the page.
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
      reject(new Error("The server does not respond."));
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

// Redraws the figures of a part when they come near the viewport; hidden ones are never drawn.
export function drawCharts(scope = document) {
  for (const figure of scope.querySelectorAll("[data-figure]")) {
    near.unobserve(figure);
    near.observe(figure);
  }
}

// Captions that wait for their drawing, so that a caption never appears above another chart.
const captions = new WeakMap();

// Sets the caption for the next drawing of a figure; at once if nothing is drawn.
export function caption(figure, words) {
  captions.set(figure, words);
  if (!figure.querySelector(".plot").source || figure.hidden) showCaption(figure);
}

function showCaption(figure) {
  const words = captions.get(figure);
  if (words) replaceContents(figure.querySelector("figcaption"), words);
  captions.delete(figure);
}

// Target of the address: figures above it that load later push it down, until the reader scrolls.
let anchored;

function follow() {
  anchored = document.getElementById(location.hash.slice(1));
}
follow();
addEventListener("hashchange", follow);
for (const move of ["wheel", "touchmove", "keydown", "pointerdown"]) {
  addEventListener(move, () => (anchored = undefined), { passive: true });
}

function keepPlace(figure) {
  if (anchored?.compareDocumentPosition(figure) & Node.DOCUMENT_POSITION_PRECEDING) target.scrollIntoView();
}

const newest = new WeakMap();

async function draw(figure) {
  const plot = figure.querySelector(".plot");
  const question = {};
  // An older response must not replace a newer one.
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
    plot.textContent = `Chart not available: ${error.message}`;
  }
  figure.ariaBusy = "false";
  showCaption(figure);
  keepPlace(figure);
}

// A click on the mark of a matrix shows that matrix; the rest of the address stays.
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
    throw new Error("The server does not respond.");
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
