// Lines over levels, cluster counts and training steps; a model keeps its colour, dash and marker.
const DASHES = ["solid", "dash", "dot", "dashdot"];

function seriesTrace(series) {
  const { color, symbol } = markOf(series.style);
  return {
    type: "scatter",
    mode: series.x.length > 30 ? "lines" : "lines+markers",
    name: plain(series.name),
    x: typeof series.x[0] === "string" ? series.x.map(plain) : series.x,
    y: series.y,
    line: { color, width: 2, dash: DASHES[series.style % DASHES.length] },
    marker: { color, symbol, size: 8 },
    ...(series.deviations && { error_y: { type: "data", array: series.deviations, color, thickness: 1.2, width: 4 } }),
  };
}

function drawChart(chart) {
  const axis = { gridcolor: css("--grid"), linecolor: css("--line"), zeroline: false, automargin: true, fixedrange: touch };
  const layout = baseLayout({
    margin: { l: 46, r: 16, t: 12, b: 40 },
    hovermode: "x unified",
    dragmode: touch ? false : "zoom",
    xaxis: { ...axis, title: { text: plain(chart.x_title), standoff: 8 }, ...(chart.x_ticks && { tickvals: chart.x_ticks }) },
    yaxis: { ...axis, title: { text: plain(chart.y_title ?? ""), standoff: 6 }, tickformat: chart.percent ? ".0%" : undefined },
  });
  Plotly.react(byId(chart.id), chart.series.map(seriesTrace), layout, PLOT_CONFIG);
}

function drawKeys() {
  for (const key of document.querySelectorAll("[data-key]")) {
    const names = new Map();
    for (const chart of data.charts) {
      if (chart.group === key.dataset.key) for (const series of chart.series) names.set(series.name, series.style);
    }
    key.replaceChildren(...[...names].map(([name, style]) => {
      const { glyph, color } = markOf(style);
      const sign = element("span", { class: "glyph" }, glyph);
      sign.style.color = color;
      return element("span", {}, sign, ` ${name}`);
    }));
  }
}

function drawCharts() {
  drawKeys();
  data.charts.forEach(drawChart);
}
