// The page's data, its one state, and what every part leans on: colours, marks, escaping.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

const ARRAYS = { f4: Float32Array, i1: Int8Array, i4: Int32Array, u1: Uint8Array, u2: Uint16Array };

/** Decode a typed array from the base64 the page carries it in. */
function decode(array) {
  const bytes = Uint8Array.from(atob(array.base64), (character) => character.charCodeAt(0));
  return new ARRAYS[array.dtype](bytes.buffer);
}

const classOf = data.points?.classes ? decode(data.points.classes) : null;

// One state for the whole page: every part redraws when a key it watches changes.
const state = {
  left: data.start.left,
  right: data.start.right, // null where there is one model only
  level: data.start.level,
  group: null, // the group of the level the reader singled out
  kind: "points",
  chosen: 0, // the image whose neighbours are shown
  branch: null, // {side, node} of the highlighted branch
};
const watchers = [];

function watch(keys, draw) {
  watchers.push({ keys, draw });
}

function set(change) {
  Object.assign(state, change);
  for (const { keys, draw } of watchers) if (keys.some((key) => key in change)) draw();
}

/** The value of a CSS custom property under the current colour scheme. */
function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Groups differ by colour and by shape, so that either alone is enough for the first eight.
const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "cross", "star", "triangle-down", "x"];
const GLYPHS = ["●", "■", "▲", "◆", "✚", "★", "▼", "✖"];

function markOf(group) {
  const turn = Math.floor(group / data.palette.length);
  const shape = (group + turn) % SYMBOLS.length;
  const color = data.palette[group % data.palette.length];
  // Black, the palette's seventh, vanishes on a dark page.
  return { color: color === "#000000" ? css("--neutral") : color, symbol: SYMBOLS[shape], glyph: GLYPHS[shape] };
}

const level = () => data.levels[state.level] ?? null;
const groupOfClass = (c) => (level() && c !== null ? level().groups_of_classes[c] : 0);
const classOfPoint = (i) => (classOf ? classOf[i] : null);
const groupOfPoint = (i) => groupOfClass(classOfPoint(i));
const textOf = (i) => data.points?.texts?.[i] || null;
const pointName = (i) => (classOf ? data.classes[classOf[i]] : data.points.ids?.[i] ?? `row ${i}`);

/** A class's place in the hierarchy, coarsest first, without the class itself. */
function pathOfClass(c) {
  return data.levels.slice(0, -1).map((l) => l.names[l.groups_of_classes[c]]).join(" › ");
}

/** Text for Plotly, which reads a few HTML tags in its labels: names are shown, never interpreted. */
function plain(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A DOM element; text always goes in as text. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Leave out the middle of a long name: relatives often begin, or end, alike. */
function shorten(text, length) {
  if (text.length <= length) return text;
  const head = Math.max(1, Math.ceil((length - 1) / 2));
  return `${text.slice(0, head)}…${text.slice(text.length - Math.max(1, length - 1 - head))}`;
}
/** Leave out the end: a text is known by how it begins. */
const shortenEnd = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`);
const few = (names, most) =>
  names.length > most ? `${names.slice(0, most).join(", ")} and ${names.length - most} more` : names.join(", ");

const PLOT_CONFIG = { displayModeBar: false, responsive: true, showTips: false };
const touch = matchMedia("(pointer: coarse)").matches;

/** Layout shared by all plots, in the colours of the page. */
function baseLayout(extra) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: css("--sans"), size: 12, color: css("--soft") },
    margin: { l: 12, r: 12, t: 12, b: 12 },
    showlegend: false,
    hoverlabel: { bgcolor: css("--surface"), bordercolor: css("--line"), font: { color: css("--ink"), size: 12 } },
    ...extra,
  };
}
