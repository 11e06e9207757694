// Applies the colors of the page to a Plotly figure of the server, and arranges its panels.

// A CSS variable as its color in the theme of the page: `light-dark()` is only resolved on an element.
function color(variable) {
  const probe = document.createElement("span");
  probe.style.color = `var(${variable})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function palette() {
  const names = ["ink", "muted", "line", "line-strong", "surface", "floor", "gather-floor", "accent"];
  const colors = Object.fromEntries(names.map((name) => [name, color(`--${name}`)]));
  const heat = [0, 1, 2, 3, 4, 5].map((step) => color(`--heat-${step}`));
  return { ...colors, heat, density: [0, 1, 2].map((step) => [step / 2, color(`--density-${step}`)]) };
}

// How the marks of each role take on the theme; those whose colors say what they are keep them.
const keep = () => {};
const PAINT = {
  kernel(trace, { ink }) {
    trace.marker.line.color = ink;
    trace.marker.pattern.fgcolor = ink;
    if (trace.error_x) Object.assign(trace.error_x, { color: ink, thickness: trace.marker.line.width ? 1.5 : 1 });
  },
  point(trace, colors) {
    trace.marker.line.color = colors.ink;
    PAINT.unsettled(trace, colors);
  },
  // A hollow marker has no fill: its line is its color.
  unsettled(trace, { muted }) {
    if (trace.error_y) Object.assign(trace.error_y, { color: muted, thickness: 1 });
  },
  line(trace, colors) {
    trace.line.color = colors["line-strong"];
    trace.textfont = { color: colors.ink };
  },
  roof(trace, { ink, floor }) {
    trace.line.color = floor;
    trace.textfont = { color: ink };
  },
  floor(trace, { floor }) {
    trace.marker.color = trace.marker.line.color = floor;
  },
  gather_floor(trace, colors) {
    trace.marker.color = trace.marker.line.color = colors["gather-floor"];
  },
  density(trace, { muted, density }) {
    trace.colorscale = density;
    trace.colorbar = { ...trace.colorbar, outlinewidth: 0, tickcolor: muted };
  },
  heat(trace, { muted, heat }) {
    // Two stops per color: its ends.
    trace.colorscale = trace.colorscale.map(([at], stop) => [at, heat[Math.floor(stop / 2)]]);
    trace.colorbar = { ...trace.colorbar, outlinewidth: 0, tickcolor: muted };
  },
  reason(trace, { muted }) {
    trace.textfont = { color: muted };
  },
  beyond(trace, { ink }) {
    trace.marker.color = ink;
  },
  busy(trace, colors) {
    trace.marker.color = colors["line-strong"];
    trace.marker.line.color = colors.muted;
  },
  profile: keep,
  gamma: keep,
  level: keep,
  histogram: keep,
};

// Marks of noisy timings are gray, whatever their role.
function mute(trace, colors) {
  const { marker, meta, error_x: x, error_y: y } = trace;
  if (!meta.busy) return;
  const own = (value, place) => (Array.isArray(value) ? value[place] : value);
  const mixed = (value, gray) => meta.busy.map((isBusy, place) => (isBusy ? gray : own(value, place)));
  marker.color = mixed(marker.color, colors["line-strong"]);
  marker.line = { ...marker.line, color: mixed(marker.line?.color, colors.muted) };
  if (marker.pattern) Object.assign(marker.pattern, { bgcolor: marker.color, fgcolor: mixed(marker.pattern.fgcolor, colors.muted) });
  for (const bars of [x, y]) if (bars) bars.color = colors.muted;
}

// A copy of the figure in the colors of the page.
export function painted(source) {
  const { data, layout } = structuredClone(source);
  const colors = palette();
  for (const trace of data) {
    PAINT[trace.meta.role](trace, colors);
    mute(trace, colors);
  }
  Object.assign(layout, {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    dragmode: false,
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colors.ink },
    hoverlabel: { bgcolor: colors.surface, bordercolor: colors["line-strong"], font: { color: colors.ink } },
    transition: { duration: 0 },
  });
  for (const slider of layout.sliders ?? []) {
    const { line, muted, accent } = colors;
    Object.assign(slider, { bgcolor: line, activebgcolor: accent, bordercolor: line, tickcolor: muted });
  }
  for (const [name, axis] of Object.entries(layout)) {
    if (!/^[xy]axis\d*$/.test(name)) continue;
    const lines = { gridcolor: colors.line, zerolinecolor: colors["line-strong"], linecolor: colors.line };
    Object.assign(axis, { ...lines, fixedrange: true });
    // Without a distance from its labels a title stands where those of three characters would end.
    if (axis.title) axis.title.standoff ??= 6;
    axis.tickfont = { ...axis.tickfont, color: name[0] === "x" ? colors.muted : colors.ink };
  }
  return { data, layout };
}

// Draws it. Plotly.react would keep the margins of what was drawn before: rows that come later would lie below the axis.
export async function drawn(Plotly, plot, figure, config) {
  // A figure that is not readable on a narrow screen keeps its width and scrolls.
  plot.style.minWidth = figure.layout.meta?.width_min ? `${figure.layout.meta.width_min}px` : "";
  labelsAbove(figure.layout, plot.clientWidth);
  arrange(figure.layout, plot.clientWidth);
  await Plotly.newPlot(plot, figure.data, figure.layout, config);
  const changes = { ...titlesInside(plot, figure.layout), ...wholeLegend(plot, figure.layout) };
  if (Object.keys(changes).length) await Plotly.relayout(plot, changes);
}

const LETTER_PX = 6.2, LABELS_SHARE = 0.2, SMALL_FONT = 10, ABOVE_PX = 15, TITLE_PX = 8, TALLER = 1.5;

// Names of rows that would take a good part of a narrow screen stand above their rows, which are taller then. Rows of
// small names are too many for that.
function labelsAbove(layout, width) {
  const axes = Object.entries(layout).filter(([name, axis]) => name.startsWith("yaxis") && axis.type === "category");
  const rows = axes.flatMap(([, axis]) => axis.categoryarray ?? []);
  const longest = Math.max(0, ...rows.map((row) => row.replace(/<[^>]*>/g, "").length));
  if (layout.meta?.width_min || longest * LETTER_PX < LABELS_SHARE * width) return;
  const isSmall = ({ tickfont }) => tickfont?.size <= SMALL_FONT;
  if (axes.some(([, axis]) => axis.matches || axis.showticklabels === false || isSmall(axis))) return;
  for (const title of layout.annotations) title.yshift = (title.yshift ?? 0) + TITLE_PX;
  layout.margin.t += TITLE_PX;
  layout.height += TITLE_PX;
  for (const [name, axis] of axes) {
    const id = name.slice(5);
    const place = { xref: `x${id} domain`, x: 0, xanchor: "left", yref: `y${id}`, yanchor: "middle", yshift: ABOVE_PX };
    const font = { size: 11, color: axis.tickfont?.color };
    layout.annotations.push(...axis.categoryarray.map((y) => ({ text: y, y, ...place, font, showarrow: false })));
    axis.showticklabels = false;
  }
  layout.bargap = Math.max(layout.bargap ?? 0, 0.55);
  layout.height += (TALLER - 1) * (layout.height - layout.margin.t - layout.margin.b);
}

const PANEL_MIN_PX = 230;

// Puts panels that may stand side by side so, as many as a width has room for; rows are as high as their highest panel.
function arrange(layout, width) {
  const { across = 1, label_px: label = 0 } = layout.meta ?? {};
  const axes = Object.keys(layout).filter((name) => name.startsWith("yaxis")).map((name) => name.slice(5));
  // The labels of the first column widen the margin.
  const inside = width - layout.margin.l - layout.margin.r - label;
  const columns = Math.min(across, axes.length, Math.floor((inside + label) / (PANEL_MIN_PX + label)));
  if (columns < 2) return;
  const part = (list, size) => Array.from({ length: Math.ceil(list.length / size) }, (_, place) => list.slice(place * size, (place + 1) * size));
  const inner = layout.height - layout.margin.t - layout.margin.b;
  const domain = (id) => layout[`yaxis${id}`].domain;
  const gap = (domain(axes[0])[0] - domain(axes[1])[1]) * inner;
  const height = (id) => (domain(id)[1] - domain(id)[0]) * inner;
  const rows = part(axes, columns);
  const rowHeights = rows.map((ids) => Math.max(...ids.map(height)));
  const total = rowHeights.reduce((sum, each) => sum + each + gap, -gap);
  const step = (1 + label / inside) / columns;
  const { title: below } = layout[`xaxis${axes.at(-1)}`];
  let top = 1;
  rows.forEach((ids, row) => {
    ids.forEach((id, column) => {
      const [x, y] = [layout[`xaxis${id}`], layout[`yaxis${id}`]];
      const share = height(id) / total;
      x.domain = [column * step, Math.min(1, column * step + step - label / inside)];
      Object.assign(layout.annotations[row * columns + column], { x: x.domain[0], y: top, font: { size: 12 } });
      y.domain = [Math.max(0, top - share), top];
      if (column) delete y.title;
      const lowest = row === rows.length - 1 || column >= rows[row + 1].length;
      if (lowest && below) x.title = structuredClone(below);
      else if (!lowest) delete x.title;
    });
    top -= (rowHeights[row] + gap) / total;
  });
  layout.height += total - inner;
}

const ROUNDING_PX = 1;

// Where a title would be cut on the right, those of all panels begin further left: over the labels there is room. Where
// that is not enough, they are smaller.
function titlesInside(plot, layout) {
  const titles = [...(layout.annotations ?? []).entries()].filter(([, title]) => title.xref === "paper");
  const drawn = titles.map(([place]) => plot.querySelector(`.annotation[data-index="${place}"]`)).filter(Boolean);
  const boxes = drawn.map((title) => title.getBoundingClientRect());
  const frame = plot.getBoundingClientRect();
  const over = Math.ceil(Math.max(0, ...boxes.map((box) => box.right)) - frame.right + ROUNDING_PX);
  if (over <= ROUNDING_PX) return {};
  const room = Math.max(0, Math.min(...boxes.map((box) => box.left)) - frame.left);
  const scale = over > room ? (frame.width - ROUNDING_PX) / (frame.width + over - room) : 1;
  return Object.fromEntries(
    titles.flatMap(([place, title]) => [
      [`annotations[${place}].xshift`, (title.xshift ?? 0) - Math.min(over, room)],
      [`annotations[${place}].font.size`, Math.floor(10 * scale * (title.font?.size ?? 12)) / 10],
    ]),
  );
}

// A legend of more lines than the server has left room for takes the rest from the panels, and is cut at half the figure.
function wholeLegend(plot, layout) {
  const entries = plot.querySelector(".legend .scrollbox");
  const lacking = entries ? entries.getBBox().height - layout.meta?.legend_px : 0;
  if (!(lacking > 0)) return {};
  const height = layout.height + lacking;
  return { height, "margin.b": layout.margin.b + lacking, "legend.maxheight": height };
}
