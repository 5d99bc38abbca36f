// The tanglegram: two trees over the same leaves, the lines between them, and one branch in both.
/** Places of a tree's nodes: `y` by leaf order, `x` by merge height (0 leaf, 1 root), and members. */
function layOut(tree) {
  const n = tree.order.length;
  const y = new Float64Array(2 * n - 1);
  const x = new Float64Array(2 * n - 1);
  const parent = new Int32Array(2 * n - 1).fill(-1);
  const members = Array.from({ length: n }, (_, leaf) => [leaf]);
  tree.order.forEach((leaf, place) => (y[leaf] = place));
  const top = Math.max(...tree.heights) || 1;
  tree.children.forEach(([a, b], merge) => {
    const node = n + merge;
    parent[a] = parent[b] = node;
    y[node] = (y[a] + y[b]) / 2;
    x[node] = tree.heights[merge] / top;
    members.push([...members[a], ...members[b]]);
  });
  return { n, x, y, parent, members, children: tree.children };
}

/** Polylines of the wanted nodes' branches; vertices stand close, because Plotly hovers vertices. */
function branchLines(tree, wanted) {
  const lines = { x: [], y: [], customdata: [] };
  const add = (x, y, node) => {
    lines.x.push(x);
    lines.y.push(y);
    lines.customdata.push(node);
  };
  const line = (x0, y0, x1, y1, node) => {
    const steps = Math.max(1, Math.ceil(Math.abs(x1 - x0) * 40), Math.ceil(Math.abs(y1 - y0) * 3));
    for (let s = 0; s <= steps; s++) add(x0 + ((x1 - x0) * s) / steps, y0 + ((y1 - y0) * s) / steps, node);
    add(null, null, node);
  };
  for (let node = 0; node < tree.x.length; node++) {
    if (!wanted(node)) continue;
    const { x, y, parent } = tree;
    if (parent[node] >= 0) line(x[parent[node]], y[node], x[node], y[node], node);
    if (node >= tree.n) {
      const [a, b] = tree.children[node - tree.n];
      line(x[node], y[a], x[node], y[b], node);
    }
  }
  return lines;
}

/** The two trees of the chosen models, either way round. */
function shownTrees() {
  const { pairs } = data.trees;
  const straight = pairs.find((p) => p.left === state.left && p.right === state.right);
  if (straight) return { left: layOut(straight.left_tree), right: straight.right_tree ? layOut(straight.right_tree) : null };
  const turned = pairs.find((p) => p.left === state.right && p.right === state.left);
  return { left: layOut(turned.right_tree), right: layOut(turned.left_tree) };
}

let trees = null;
let cursor = null; // {side, node} of the keyboard

/** What a chosen branch lights up: its leaves, and on each side the nodes wholly inside them. */
function highlight() {
  if (!state.branch) return null;
  const leaves = new Set(trees[state.branch.side].members[state.branch.node]);
  const inside = (tree) => (node) => tree.members[node].every((leaf) => leaves.has(leaf));
  return { leaves, left: inside(trees.left), right: trees.right && inside(trees.right) };
}

const leafGroup = (leaf) => (data.trees.classes ? groupOfClass(data.trees.classes[leaf]) : 0);
const AXES = { left: "x", right: "x3" };

function branchTraces(side, lit) {
  const base = { type: "scatter", mode: "lines", hoverinfo: "none", xaxis: AXES[side], yaxis: "y" };
  const traces = [{
    ...base, ...branchLines(trees[side], () => true),
    line: { color: lit ? css("--dim") : css("--soft"), width: 1.3 },
  }];
  if (lit) {
    traces.push({ ...base, ...branchLines(trees[side], lit[side]), line: { color: css("--accent"), width: 3 } });
  }
  return traces;
}

function leafTrace(side, room, lit) {
  const tree = trees[side];
  const leaves = Array.from({ length: tree.n }, (_, leaf) => leaf);
  const marks = leaves.map((leaf) => markOf(leafGroup(leaf)));
  const faded = (leaf) => lit && !lit.leaves.has(leaf);
  return {
    type: "scatter", mode: "markers+text", hoverinfo: "none", xaxis: "x2", yaxis: "y",
    x: leaves.map(() => (side === "left" ? room.mark : 1 - room.mark)),
    y: leaves.map((leaf) => tree.y[leaf]),
    customdata: leaves,
    text: leaves.map((leaf) => plain(shorten(data.trees.leaves[leaf], room.letters))),
    textposition: side === "left" ? "middle right" : "middle left",
    textfont: { size: room.font, color: leaves.map((leaf) => (faded(leaf) ? css("--dim") : css("--ink"))) },
    marker: {
      size: 8, color: marks.map((mark) => mark.color), symbol: marks.map((mark) => mark.symbol),
      opacity: leaves.map((leaf) => (faded(leaf) ? 0.25 : 1)),
    },
  };
}

function linkTraces(room, lit) {
  const byColour = new Map();
  for (let leaf = 0; leaf < trees.left.n; leaf++) {
    const dim = (lit && !lit.leaves.has(leaf)) || (state.group !== null && leafGroup(leaf) !== state.group);
    const colour = dim ? css("--line") : markOf(leafGroup(leaf)).color;
    if (!byColour.has(colour)) byColour.set(colour, { x: [], y: [], dim });
    const { x, y } = byColour.get(colour);
    x.push(room.link, 1 - room.link, null);
    y.push(trees.left.y[leaf], trees.right.y[leaf], null);
  }
  // Dimmed lines first, so that the others lie above them.
  return [...byColour].sort((a, b) => b[1].dim - a[1].dim).map(([color, { x, y }]) => ({
    type: "scatter", mode: "lines", hoverinfo: "skip", xaxis: "x2", yaxis: "y", x, y, line: { color, width: 1.6 },
  }));
}

function cursorTrace() {
  if (!cursor) return [];
  const tree = trees[cursor.side];
  return [{
    type: "scatter", mode: "markers", hoverinfo: "skip", xaxis: AXES[cursor.side], yaxis: "y", cliponaxis: false,
    x: [tree.x[cursor.node]], y: [tree.y[cursor.node]],
    marker: { size: 13, symbol: "circle-open", color: css("--ink"), line: { width: 2.5 } },
  }];
}

function drawTrees() {
  const div = byId("tree-plot");
  trees = shownTrees();
  const lit = highlight();
  const n = trees.left.n;
  const width = div.clientWidth;
  const font = width < 520 ? 10 : n > 60 ? 11 : 12.5;
  const longest = Math.max(...data.trees.leaves.map((name) => name.length));
  const textWidth = Math.min((longest + 1) * font * 0.58, width * (width < 520 ? 0.25 : 0.2)) + 16;
  const middle = trees.right ? Math.max(0.34, (2 * textWidth + (width < 520 ? 0.1 : 0.14) * width) / width) : textWidth / width;
  const edge = trees.right ? (1 - middle) / 2 : 1 - middle;
  const room = {
    font, mark: 7 / (middle * width), link: textWidth / (middle * width),
    letters: Math.floor((textWidth - 16) / (font * 0.56)),
  };
  const traces = [...branchTraces("left", lit), leafTrace("left", room, lit)];
  if (trees.right) traces.push(...branchTraces("right", lit), leafTrace("right", room, lit), ...linkTraces(room, lit));
  const axis = { visible: false, fixedrange: true };
  const layout = baseLayout({
    height: Math.max(220, n * (n > 60 ? 14 : 21) + 24),
    hovermode: "closest", hoverdistance: 14, dragmode: false,
    margin: { l: 4, r: 4, t: 6, b: 6 },
    xaxis: { ...axis, domain: [0, edge], range: [1.02, 0] },
    xaxis2: { ...axis, domain: [edge, trees.right ? 1 - edge : 1], range: [0, 1] },
    ...(trees.right && { xaxis3: { ...axis, domain: [1 - edge, 1], range: [0, 1.02] } }),
    yaxis: { ...axis, range: [n - 0.3, -0.7] },
  });
  byId("tree-left-name").textContent = data.models[state.left];
  byId("tree-right-name").textContent = trees.right ? data.models[state.right] : "";
  describeBranch(lit);
  return Plotly.react(div, [...traces, ...cursorTrace()], layout, PLOT_CONFIG);
}

function describeBranch(lit) {
  const note = byId("branch-note");
  if (!lit) return;
  const names = [...lit.leaves].map((leaf) => data.trees.leaves[leaf]);
  const noun = data.trees.nouns[names.length === 1 ? 0 : 1];
  note.replaceChildren(element("strong", {}, `${names.length} ${noun}`), `: ${few(names, 12)}. `);
  if (!trees.right) return;
  const other = state.branch.side === "left" ? "right" : "left";
  const holding = trees[other].members.filter((held) => names.length <= held.length && [...lit.leaves].every((leaf) => held.includes(leaf)));
  const smallest = Math.min(...holding.map((held) => held.length));
  note.append(smallest === names.length
    ? `${data.models[state[other]]} keeps them together, in a branch of their own.`
    : `In ${data.models[state[other]]} the smallest branch that holds them all has ${smallest}.`);
}

/** Which side and node a Plotly point belongs to: leaves and branches both carry the node's number. */
function nodeOf(point) {
  const axis = point.fullData.xaxis;
  const side = axis === "x" ? "left" : axis === "x3" ? "right" : point.fullData.textposition === "middle right" ? "left" : "right";
  return { side, node: point.customdata };
}

function showNode({ side, node }, x, y) {
  const leaves = trees[side].members[node];
  if (leaves.length === 1) {
    const leaf = leaves[0];
    const examples = data.trees.examples[leaf];
    const content = data.trees.classes
      ? describeClass(data.trees.classes[leaf], examples)
      : [...examplesOf(examples, examples.length > 1 ? 52 : 112), element("strong", {}, data.trees.leaves[leaf])];
    return showTip(x, y, ...content);
  }
  const names = leaves.map((leaf) => data.trees.leaves[leaf]);
  const pictures = leaves.slice(0, 10).flatMap((leaf) => data.trees.examples[leaf].slice(0, 1));
  return showTip(x, y,
    ...(atlas ? [element("div", { class: "pictures" }, ...pictures.map((i) => picture(i, 40)))] : []),
    element("strong", {}, `Branch of ${names.length}`), element("small", {}, few(names, 8)));
}

function toggleBranch(branch) {
  const same = state.branch && branch && state.branch.side === branch.side && state.branch.node === branch.node;
  set({ branch: same ? null : branch });
  if (!state.branch) byId("branch-note").textContent = "Click a branch to see where its members are in the other tree.";
}

/** Where an arrow key leads: up and down among nodes by place, inwards to the leaves and across. */
function step({ side, node }, key) {
  const tree = trees[side];
  const towardsRoot = side === "left" ? "ArrowLeft" : "ArrowRight";
  if (key === towardsRoot) return { side, node: tree.parent[node] < 0 ? node : tree.parent[node] };
  if (key === "ArrowLeft" || key === "ArrowRight") {
    if (node >= tree.n) return { side, node: tree.children[node - tree.n][0] };
    const across = side === "left" ? "right" : "left";
    return trees[across] ? { side: across, node } : { side, node };
  }
  const down = key === "ArrowDown";
  const isLeaf = node < tree.n;
  let best = node;
  for (let other = 0; other < tree.x.length; other++) {
    if (other < tree.n !== isLeaf) continue;
    const ahead = down ? tree.y[other] > tree.y[node] : tree.y[other] < tree.y[node];
    if (ahead && (best === node || Math.abs(tree.y[other] - tree.y[node]) < Math.abs(tree.y[best] - tree.y[node]))) best = other;
  }
  return { side, node: best };
}

function treeKey(event) {
  if (event.key === "Escape") return toggleBranch(null);
  if ((event.key === "Enter" || event.key === " ") && cursor) {
    event.preventDefault();
    return toggleBranch(cursor);
  }
  if (!event.key.startsWith("Arrow")) return;
  event.preventDefault();
  cursor = cursor ? step(cursor, event.key) : { side: "left", node: 0 };
  drawTrees();
  const div = byId("tree-plot");
  const box = div.getBoundingClientRect();
  const place = (trees[cursor.side].y[cursor.node] + 0.7) / (trees.left.n + 0.4);
  showNode(cursor, box.left + box.width / 2, box.top + place * box.height);
}

async function startTrees() {
  const div = byId("tree-plot");
  if (!div) return;
  await drawTrees();
  div.on("plotly_hover", (event) => {
    showNode(nodeOf(event.points[0]), ...pointer(event.event));
    div.querySelector(".nsewdrag")?.style.setProperty("cursor", "pointer");
  });
  div.on("plotly_unhover", hideTip);
  div.addEventListener("mouseleave", hideTip);
  div.on("plotly_click", (event) => toggleBranch(nodeOf(event.points[0])));
  div.addEventListener("keydown", treeKey);
  div.addEventListener("blur", () => {
    cursor = null;
    hideTip();
    drawTrees();
  });
  watch(["left", "right", "level", "group", "branch"], drawTrees);
  // Label room depends on the width in pixels, which Plotly's own resize does not know.
  let width = div.clientWidth;
  addEventListener("resize", () => {
    if (div.clientWidth !== width) drawTrees();
    width = div.clientWidth;
  });
}
