// The chosen image and its nearest neighbours, one row per model.
const nearest = data.neighbours.map((rows) => ({ indices: decode(rows.indices), cosines: decode(rows.cosines) }));

function neighbourTile(i, cosine) {
  const same = classOf !== null && groupOfPoint(i) === groupOfPoint(state.chosen);
  const button = element("button", { type: "button", "aria-label": `Choose ${pointName(i)}` }, tile(i, 72));
  button.addEventListener("click", () => set({ chosen: i }));
  button.addEventListener("mouseenter", () => state.kind === "points" && ringPoint(i));
  button.addEventListener("mouseleave", () => ringPoint(null));
  const name = element("span", { class: "name", title: pointName(i) }, pointName(i));
  // Without a picture a class name alone would not tell one point from another.
  const told = classOf !== null && data.points.ids && !hasPicture(i);
  const id = told ? [element("span", { class: "name", title: data.points.ids[i] }, data.points.ids[i])] : [];
  const sign = classOf === null ? "" : same ? " ✓" : "";
  return element("li", { class: same ? "same" : "" }, button, name, ...id, `${cosine.toFixed(2)}${sign}`);
}

function drawNeighbours() {
  const query = state.chosen;
  const own = element("div", { class: "neighbour-row query" },
    element("h3", {}, pointName(query), element("small", {}, classOf && data.points.ids ? data.points.ids[query] : "")),
    tile(query, 96));
  const rows = nearest.map(({ indices, cosines }, model) => {
    const k = data.neighbour_count;
    const tiles = Array.from({ length: k }, (_, j) => neighbourTile(indices[query * k + j], cosines[query * k + j] / 100));
    const same = tiles.filter((tile) => tile.className === "same").length;
    const count = classOf ? `${same} of ${k} in the same ${level().noun}` : `${k} nearest by cosine`;
    return element("div", { class: "neighbour-row" },
      element("h3", {}, data.models[model], element("small", {}, count)),
      element("ul", { class: data.points.texts ? "tiles texts" : "tiles" }, ...tiles));
  });
  byId("neighbour-rows").replaceChildren(own, ...rows);
  const select = byId("query-class");
  if (select) select.value = classOf[query];
}

function startNeighbours() {
  if (!byId("neighbours")) return;
  const select = byId("query-class");
  const n = data.points.count;
  /** The first point after `from` that is of class c (any, where there are no classes). */
  const following = (from, c) => {
    for (let step = 1; step <= n; step++) {
      const i = (from + step) % n;
      if (c === null || classOf[i] === c) return i;
    }
    return from;
  };
  select?.addEventListener("change", () => set({ chosen: following(-1 + n, Number(select.value)) }));
  byId("another").addEventListener("click", () => set({ chosen: following(state.chosen, classOfPoint(state.chosen)) }));
  watch(["chosen", "level"], drawNeighbours);
  drawNeighbours();
}
