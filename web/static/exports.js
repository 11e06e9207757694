// Figures as files: always light on white, with what they are of, so that they can stand alone in a paper.
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

// The figure on white below its title, with where, when and from which address it comes.
function standalone(source) {
  const { data, layout } = painted(source, "light");
  arrange(layout, WIDTH_PX);
  const { title, lines } = layout.meta.provenance;
  const said = [...lines, ...broken(location.href)].map(escaped);
  const above = 40 + LINE_PX * said.length;
  Object.assign(layout, {
    paper_bgcolor: "#ffffff",
    plot_bgcolor: "#ffffff",
    width: WIDTH_PX,
    height: layout.height + above,
    margin: { ...layout.margin, l: layout.margin.l + 8, t: layout.margin.t + above },
    title: {
      text: `<b>${escaped(title)}</b><br>${said.map((line) => `<span style="font-size:11px">${line}</span>`).join("<br>")}`,
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

// An address of so many matrices that it would fill the picture ends in an ellipsis: the title's lines still name it.
function broken(address) {
  const lines = [];
  for (let start = 0; start < address.length; start += ADDRESS_LINE) lines.push(address.slice(start, start + ADDRESS_LINE));
  return lines.length > ADDRESS_LINES ? [...lines.slice(0, ADDRESS_LINES - 1), `${lines[ADDRESS_LINES - 1].slice(0, -1)}…`] : lines;
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
