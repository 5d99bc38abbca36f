// Two maps side by side. Hovering a point rings it in both; clicking it chooses it.
const mapSides = () => (state.right === null ? ["left"] : ["left", "right"]);
const mapDiv = (side) => byId(`map-${side}`);
const coordinates = data.maps.map((map) => ({
  points: decode(map.points),
  centroids: map.centroids ? decode(map.centroids) : null,
}));

// Thousands of SVG nodes are slow; fewer are there sooner than WebGL, which without a graphics card
// compiles its shaders first. Some browsers have none.
const MOST_SVG_POINTS = 1000;
const hasWebGL = (() => {
  try {
    return Boolean(document.createElement("canvas").getContext("webgl"));
  } catch {
    return false;
  }
})();

function mapArrays(side) {
  const flat = coordinates[state[side]][state.kind];
  const n = flat.length / 2;
  return { n, x: flat.subarray(0, n), y: flat.subarray(n) };
}

const groupOnMap = (i) => (state.kind === "points" ? groupOfPoint(i) : groupOfClass(i));

function markers(n) {
  const groups = Array.from({ length: n }, (_, i) => groupOnMap(i));
  const marks = new Map([...new Set(groups)].map((group) => [group, markOf(group)]));
  const size = state.kind === "centroids" ? 13 : n > 4000 ? 5 : n > 1000 ? 6.5 : 9;
  return {
    color: groups.map((group) => marks.get(group).color),
    symbol: groups.map((group) => marks.get(group).symbol),
    opacity: groups.map((group) => (state.group === null ? 0.85 : state.group === group ? 1 : 0.07)),
    size,
    line: { width: n > 4000 ? 0 : 0.6, color: css("--surface") },
  };
}

function paddedRange(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const pad = 0.06 * (high - low) || 1;
  return [low - pad, high + pad];
}

function drawMap(side) {
  const { n, x, y } = mapArrays(side);
  const name = data.models[state[side]];
  const named = state.kind === "centroids" && n <= 40;
  byId(`map-${side}-name`).textContent = name;
  mapDiv(side).setAttribute(
    "aria-label",
    `Map of ${name}, ${n} ${state.kind === "points" ? `${data.noun}s` : "class centroids"}. Arrow keys move between points, Enter chooses one.`,
  );
  const axis = { visible: false, zeroline: false, showgrid: false };
  const trace = {
    type: hasWebGL && n > MOST_SVG_POINTS ? "scattergl" : "scatter",
    mode: named ? "markers+text" : "markers",
    x, y, marker: markers(n), hoverinfo: "none",
    ...(named && {
      text: data.classes.map((c) => plain(shorten(c, 18))),
      textposition: "top center", textfont: { size: 11, color: css("--ink") }, cliponaxis: false,
    }),
  };
  const layout = baseLayout({
    hovermode: "closest", hoverdistance: 24, dragmode: touch ? false : "pan",
    xaxis: { ...axis, range: paddedRange(x) },
    yaxis: { ...axis, range: paddedRange(y), scaleanchor: "x" },
  });
  return Plotly.react(mapDiv(side), [trace], layout, { ...PLOT_CONFIG, scrollZoom: !touch && n > 1000 });
}

/** Ring one point in both maps, or none. An element over the plot: Plotly would redraw all points. */
function ringPoint(i) {
  for (const side of mapSides()) {
    const ring = byId(`ring-${side}`);
    ring.hidden = i === null;
    if (i === null) continue;
    const { x, y } = mapArrays(side);
    const { xaxis, yaxis } = mapDiv(side)._fullLayout;
    ring.style.left = `${xaxis._offset + xaxis.d2p(x[i])}px`;
    ring.style.top = `${yaxis._offset + yaxis.d2p(y[i])}px`;
  }
}

let hovered = null;

function hoverPoint(i, x, y) {
  if (i !== hovered) {
    hovered = i;
    ringPoint(i);
  }
  const isPoint = state.kind === "points";
  const content = isPoint
    ? [...(atlas ? [element("div", { class: "pictures" }, picture(i, 112))] : []), ...describePoint(i)]
    : describeClass(i, data.examples[i]);
  showTip(x, y, ...content);
  byId("map-note").replaceChildren(...(isPoint ? describePoint(i) : describeClass(i, [])));
}

function leavePoint() {
  hovered = null;
  ringPoint(null);
  hideTip();
}

function choosePoint(i) {
  if (state.kind === "points") set({ chosen: i });
  else if (data.examples[i].length) set({ chosen: data.examples[i][0] });
}

/** The nearest point in the direction of an arrow key, sideways distance counting double. */
function neighbourTowards(side, from, [dx, dy]) {
  const { n, x, y } = mapArrays(side);
  let best = from;
  let least = Infinity;
  for (let i = 0; i < n; i++) {
    const along = (x[i] - x[from]) * dx + (y[i] - y[from]) * dy;
    const aside = Math.abs((x[i] - x[from]) * dy) + Math.abs((y[i] - y[from]) * dx);
    if (along > 1e-9 && along + 2 * aside < least) [best, least] = [i, along + 2 * aside];
  }
  return best;
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function mapKey(side, event) {
  if (event.key === "Escape") return leavePoint();
  if (event.key === "Enter" && hovered !== null) return choosePoint(hovered);
  if (!(event.key in ARROWS)) return;
  event.preventDefault();
  const start = state.kind === "points" ? state.chosen : 0;
  const next = hovered === null ? start : neighbourTowards(side, hovered, ARROWS[event.key]);
  const box = mapDiv(side).getBoundingClientRect();
  hoverPoint(next, box.left + 24, box.top + 70);
}

async function drawMaps() {
  byId("map-right-figure").hidden = state.right === null;
  document.querySelector(".maps").classList.toggle("single", state.right === null);
  hovered = null;
  await Promise.all(mapSides().map(drawMap));
}

async function startMaps() {
  if (!byId("map")) return;
  await drawMaps();
  for (const side of mapSides()) {
    const div = mapDiv(side);
    div.on("plotly_hover", (event) => hoverPoint(event.points[0].pointIndex, ...pointer(event.event)));
    div.on("plotly_unhover", leavePoint);
    div.on("plotly_relayout", leavePoint); // points move under the ring when the map is dragged
    div.on("plotly_click", (event) => choosePoint(event.points[0].pointIndex));
    div.addEventListener("keydown", (event) => mapKey(side, event));
    div.addEventListener("blur", leavePoint);
    div.addEventListener("mouseleave", leavePoint);
  }
  for (const radio of document.querySelectorAll("input[name=map-kind]")) {
    radio.addEventListener("change", () => set({ kind: radio.value }));
  }
  watch(["left", "right", "level", "group", "kind"], drawMaps);
}
