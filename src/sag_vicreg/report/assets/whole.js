// All rows: the tree of each table as a picture of its first levels, and as a list that opens branch by branch.
const whole = data.whole;
const DRAWN_LEVELS = 3, LEVEL_HEIGHT = 34, DRAWN_WIDTH = 1000, THINNEST = 1.5;

const shareOf = (table, place) => table.rows[place] / table.rows[0];
const partsOf = (table, place) => {
  const [first, count] = table.parts[place];
  return Array.from({ length: count }, (_, k) => first + k);
};

function percents(share) {
  const value = 100 * share;
  return value >= 9.95 ? `${Math.round(value)}%` : value >= 0.1 ? `${value.toFixed(1)}%` : "<0.1%";
}

function describeRows(table, place) {
  const fate = table.fates[place];
  const rows = `${table.rows[place].toLocaleString("en")} rows, ${percents(shareOf(table, place))}`;
  return [
    element("strong", {}, table.names[place]),
    element("small", {}, fate ? `${rows} · ${fate}` : rows),
    element("small", {}, table.examples[place].map((c) => shorten(table.central[c], 32)).join(", ")),
  ];
}

/** One line of the list: it opens where the branch has parts. */
function branchItem(table, place, color) {
  const parts = partsOf(table, place);
  const bar = element("span", { class: "branch-bar" });
  bar.style.cssText = `width:${Math.max(0.4, 100 * shareOf(table, place))}%;background:${color}`;
  const fate = table.fates[place];
  const head = element("span", { class: "branch-head" },
    element("span", { class: "turn", "aria-hidden": "true" }, parts.length ? "▸" : "·"),
    element("span", { class: "branch-name" }, table.names[place]),
    ...(fate ? [element("span", { class: `fate ${fate}` }, fate)] : []),
    element("span", { class: "branch-rows" }, `${table.rows[place].toLocaleString("en")} rows`,
      element("small", {}, percents(shareOf(table, place)))));
  const middle = table.examples[place].map((c) => shorten(table.central[c], 28)).join(", ");
  const content = [head, element("span", { class: "branch-track" }, bar), element("small", { class: "branch-examples" }, middle)];
  if (!parts.length) return element("li", {}, element("div", { class: "branch" }, ...content));
  const button = element("button", { type: "button", class: "branch", "aria-expanded": "false", "data-place": place }, ...content);
  const item = element("li", {}, button);
  button.addEventListener("click", () => openBranch(table, item, button.getAttribute("aria-expanded") === "false"));
  item.openColor = color;
  return item;
}

function openBranch(table, item, open) {
  const button = item.querySelector("button");
  button.setAttribute("aria-expanded", String(open));
  let list = item.querySelector("ul");
  if (open && !list) {
    // Lines are made when they are first seen: a tree has thousands.
    const place = Number(button.dataset.place);
    list = element("ul", {}, ...partsOf(table, place).map((part) => branchItem(table, part, item.openColor)));
    item.append(list);
  }
  if (list) list.hidden = !open;
}

/** The first levels from left to right, each branch as wide as it has rows. */
function drawLevels(table, choose) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const height = DRAWN_LEVELS * LEVEL_HEIGHT;
  for (const [name, value] of Object.entries({
    class: "levels", viewBox: `0 0 ${DRAWN_WIDTH} ${height}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `The first levels of the tree of ${table.name}; the list below has them in words`,
  })) svg.setAttribute(name, value);
  const draw = (place, x, depth, color, path) => {
    for (const part of partsOf(table, place)) {
      const width = DRAWN_WIDTH * shareOf(table, part);
      const own = depth ? color : table.colors[part - table.parts[0][0]];
      if (width >= THINNEST) {
        const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        for (const [name, value] of Object.entries({ x, y: depth * LEVEL_HEIGHT, width, height: LEVEL_HEIGHT })) box.setAttribute(name, value);
        box.style.cssText = `fill:${own};fill-opacity:${0.9 - 0.2 * depth}`;
        const way = [...path, part];
        box.addEventListener("mousemove", (event) => showTip(...pointer(event), ...describeRows(table, part)));
        box.addEventListener("mouseleave", hideTip);
        box.addEventListener("click", () => choose(way));
        svg.append(box);
        if (depth + 1 < DRAWN_LEVELS) draw(part, x, depth + 1, own, way);
      }
      x += width;
    }
  };
  draw(0, 0, 0, null, []);
  return svg;
}

function startWhole() {
  if (!whole) return;
  const cards = whole.map((table) => {
    const top = partsOf(table, 0).map((place, k) => branchItem(table, place, table.colors[k]));
    const list = element("ul", { class: "branches" }, ...top);
    /** Open the list down to a branch of the picture. */
    const choose = (path) => {
      let within = list;
      for (const place of path) {
        const button = within.querySelector(`:scope > li > [data-place="${place}"]`);
        if (!button) return;
        openBranch(table, button.parentElement, true);
        within = button.parentElement.querySelector("ul");
        button.focus({ preventScroll: true });
        button.scrollIntoView({ block: "nearest" });
      }
    };
    return element("div", { class: "table-card whole" },
      element("p", { class: "table-title" }, table.name,
        element("small", {}, `${table.rows[0].toLocaleString("en")} rows, ${table.central.length.toLocaleString("en")} micro-clusters`)),
      drawLevels(table, choose), list);
  });
  byId("wholes").replaceChildren(...cards);
}
