// Charts: fetches the figures that the page names, paints them in the page's theme, and keeps them so.
import { color } from "./themes.js";

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
    script.addEventListener("error", () => reject(new Error("plotly.js did not load")));
    document.head.append(script);
  });
  return plotly;
}

export function drawCharts(scope = document) {
  for (const figure of scope.querySelectorAll("[data-figure]:not([hidden])")) draw(figure);
}

async function draw(figure) {
  const plot = figure.querySelector(".plot");
  const url = figure.dataset.figure;
  try {
    const [Plotly, response] = await Promise.all([loadPlotly(), fetch(url)]);
    if (!response.ok) throw new Error((await response.json()).detail);
    plot.source = await response.json();
    // A faster answer to a later question must not be painted over.
    if (figure.dataset.figure !== url || !figure.isConnected) return;
    await paint(Plotly, plot);
  } catch (error) {
    plot.textContent = `The chart cannot be shown: ${error.message}`;
  }
}

async function paint(Plotly, plot) {
  const { data, layout } = themed(structuredClone(plot.source));
  await Plotly.react(plot, data, layout, CONFIG);
  // A legend of more lines than the server has left room for takes the rest from the panels, and is cut at half the figure.
  const entries = plot.querySelector(".legend .scrollbox");
  const lacking = entries ? entries.getBBox().height - layout.meta?.legend_px : 0;
  if (!(lacking > 0)) return;
  const height = layout.height + lacking;
  await Plotly.relayout(plot, { height, "margin.b": layout.margin.b + lacking, "legend.maxheight": height });
}

// How the marks of each role take on the theme; those whose colours say what they are keep them.
const keep = () => {};
const PAINT = {
  kernel(trace, { ink }) {
    trace.marker.line.color = ink;
    trace.marker.pattern.fgcolor = ink;
    if (trace.error_x) Object.assign(trace.error_x, { color: ink, thickness: trace.marker.line.width ? 1.5 : 1 });
  },
  point(trace, { ink, muted }) {
    trace.marker.line.color = ink;
    PAINT.unsettled(trace, { muted });
  },
  // A hollow marker has no fill: its line is its colour.
  unsettled(trace, { muted }) {
    if (trace.error_y) Object.assign(trace.error_y, { color: muted, thickness: 1 });
  },
  line(trace, { ink }) {
    trace.line.color = color("--line-strong");
    trace.textfont = { color: ink };
  },
  roof(trace, { ink }) {
    trace.line.color = color("--floor");
    trace.textfont = { color: ink };
  },
  floor(trace) {
    trace.marker.color = trace.marker.line.color = color("--floor");
  },
  gather_floor(trace) {
    trace.marker.color = trace.marker.line.color = color("--gather-floor");
  },
  density(trace, { muted }) {
    trace.colorscale = [0, 1, 2].map((step) => [step / 2, color(`--density-${step}`)]);
    trace.colorbar = { ...trace.colorbar, outlinewidth: 0, tickcolor: muted };
  },
  reason(trace, { muted }) {
    trace.textfont = { color: muted };
  },
  profile: keep,
  gamma: keep,
  level: keep,
  histogram: keep,
};

function themed({ data, layout }) {
  const [ink, muted, line] = ["--ink", "--muted", "--line"].map(color);
  for (const trace of data) PAINT[trace.meta.role](trace, { ink, muted });
  Object.assign(layout, {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    dragmode: false,
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
    hoverlabel: { bgcolor: color("--surface"), bordercolor: color("--line-strong"), font: { color: ink } },
    transition: { duration: 0 },
  });
  for (const [name, axis] of Object.entries(layout)) {
    if (!/^[xy]axis\d*$/.test(name)) continue;
    Object.assign(axis, { gridcolor: line, zerolinecolor: color("--line-strong"), linecolor: line, fixedrange: true });
    axis.tickfont = { color: name[0] === "x" ? muted : ink };
  }
  return { data, layout };
}

document.addEventListener("themechange", async () => {
  const plots = [...document.querySelectorAll(".plot")].filter((plot) => plot.source);
  if (!plots.length) return;
  const Plotly = await loadPlotly();
  for (const plot of plots) await paint(Plotly, plot);
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-save]");
  if (!button) return;
  const plot = button.closest("figure").querySelector(".plot");
  const Plotly = await loadPlotly();
  const image = { format: button.dataset.save, filename: button.closest("figure").id, scale: 2 };
  await Plotly.downloadImage(plot, { ...image, width: plot.clientWidth, height: plot.clientHeight });
});
