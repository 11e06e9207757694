// Downloads of figures: light theme on white, with title and provenance, ready for a paper.
import { loadPlotly } from "./charts.js";
import { arrange, painted } from "./paint.js";

const WIDTH_PX = 1000;
const ADDRESS_LINE = 120;
const ADDRESS_LINES = 3;
const LINE_PX = 15;

export function wireExports() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-save]");
    if (button) await save(button.closest("figure"), button.dataset.save);
  });
}

async function save(figure, format) {
  const { source } = figure.querySelector(".plot");
  if (!source) return;
  const Plotly = await loadPlotly();
  const picture = standalone(source);
  const { width, height } = picture.layout;
  await Plotly.downloadImage(picture, { format, width, height, scale: 2, filename: figure.id });
}

// Returns the figure on white with its title, devices, dates, and address.
function standalone(source) {
  const { data, layout } = painted(source, "light");
  arrange(layout, WIDTH_PX);
  const { title, lines } = layout.meta.provenance;
  const captions = [...lines, ...broken(location.href)].map(escaped);
  const above = 40 + LINE_PX * captions.length;
  Object.assign(layout, {
    paper_bgcolor: "#ffffff",
    plot_bgcolor: "#ffffff",
    width: WIDTH_PX,
    height: layout.height + above,
    margin: { ...layout.margin, l: layout.margin.l + 8, t: layout.margin.t + above },
    title: {
      text: `<b>${escaped(title)}</b><br>${captions.map((line) => `<span style="font-size:11px">${line}</span>`).join("<br>")}`,
      font: { size: 15 },
      x: 0,
      xanchor: "left",
      pad: { l: 12, t: 16 },
      y: 1,
      yref: "container",
      yanchor: "top",
    },
  });
  return { data, layout };
}

// A very long address ends in an ellipsis, so that it does not fill the image.
function broken(address) {
  const lines = [];
  for (let start = 0; start < address.length; start += ADDRESS_LINE) lines.push(address.slice(start, start + ADDRESS_LINE));
  return lines.length > ADDRESS_LINES ? [...lines.slice(0, ADDRESS_LINES - 1), `${lines[ADDRESS_LINES - 1].slice(0, -1)}…`] : lines;
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
