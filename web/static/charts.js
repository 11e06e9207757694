// Figures: the server draws them; "Interactive" draws one with Plotly in its place, in the theme of the page.
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

function loadPlotly() {
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

export function wireCharts() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-interactive]");
    if (button) draw(button.closest("figure"));
  });
}

// The newest request of each figure.
const newest = new WeakMap();

// Captions that wait for their drawing, so that a caption never appears above another chart.
const captions = new WeakMap();

function showCaption(figure) {
  const waiting = captions.get(figure);
  if (waiting) replaceContents(figure.querySelector("figcaption"), waiting);
  captions.delete(figure);
}

// Shows the figure of a fresh page; the old drawing stays until the new one is complete. True if they differ.
export function swapFigure(figure, fresh) {
  for (const link of fresh.querySelectorAll("a[id]")) {
    figure.querySelector(`#${CSS.escape(link.id)}`)?.setAttribute("href", link.getAttribute("href"));
  }
  const same = figure.dataset.figure === fresh.dataset.figure && figure.dataset.version === fresh.dataset.version;
  figure.hidden = fresh.hidden;
  figure.dataset.figure = fresh.dataset.figure;
  figure.dataset.version = fresh.dataset.version;
  if (same) return false;
  captions.set(figure, [...fresh.querySelector("figcaption").childNodes]);
  if (figure.querySelector(".plot").source) draw(figure);
  else swapImage(figure, fresh);
  return true;
}

async function swapImage(figure, fresh) {
  const question = {};
  newest.set(figure, question);
  const picture = document.importNode(fresh.querySelector("picture"), true);
  const image = picture.querySelector("img");
  image.loading = "eager";
  figure.ariaBusy = "true";
  // Without a drawing the image shows its text.
  if (!figure.hidden) await image.decode().catch(() => {});
  if (newest.get(figure) !== question) return;
  figure.querySelector("picture").replaceWith(picture);
  figure.ariaBusy = "false";
  showCaption(figure);
}

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
    figure.querySelector("[data-interactive]").ariaPressed = "true";
    if (source.data.some((trace) => trace.meta.opens)) openOnClick(plot);
  } catch (error) {
    if (isLate()) return;
    window.Plotly?.purge(plot);
    plot.source = undefined;
    plot.textContent = `Chart not available: ${error.message}`;
  }
  figure.ariaBusy = "false";
  showCaption(figure);
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
