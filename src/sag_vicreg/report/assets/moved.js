// What moved: pictures beside the flow, and the table of items, sorted as the reader likes.
const moved = data.moved;
const movedOrder = { key: "motion", down: true };

/** A picture of an item, or its name where there is none. */
function movedItem(item, size) {
  const label = item.class ?? item.name;
  if (item.point !== null && atlas && tileOf[item.point] >= 0) {
    const shown = picture(item.point, size);
    shown.title = label;
    return shown;
  }
  return element("span", { class: "chip", title: item.name }, shorten(label, 42));
}

function movedRow(item) {
  const own = element("td", {}, element("div", { class: "moved-item" }, movedItem(item, 44),
    element("span", { class: "moved-name" }, item.class ?? item.name,
      element("small", {}, item.class ? item.name : ""))));
  const near = (items) => element("td", {}, element("div", { class: "moved-near" }, ...items.map((each) => movedItem(each, 34))));
  return element("tr", {}, own,
    element("td", {}, item.motion.toFixed(2)),
    element("td", {}, `${Math.round(100 * item.lost)}%`),
    near(item.old), near(item.new));
}

function drawMovers() {
  const { key, down } = movedOrder;
  const value = (item) => (key === "name" ? item.class ?? item.name : item[key]);
  const sorted = [...moved.movers].sort((a, b) =>
    (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (down ? -1 : 1));
  byId("moved-rows").replaceChildren(...sorted.map(movedRow));
  for (const button of document.querySelectorAll("#moved [data-sort]")) {
    const own = button.dataset.sort === key;
    button.closest("th").setAttribute("aria-sort", own ? (down ? "descending" : "ascending") : "none");
  }
}

function startMoved() {
  if (!moved) return;
  for (const holder of document.querySelectorAll("#moved [data-points]")) {
    if (!atlas) break;
    const points = holder.dataset.points.split(" ").filter(Boolean).map(Number);
    holder.replaceChildren(...points.filter((i) => tileOf[i] >= 0).map((i) => picture(i, 28)));
  }
  for (const ribbon of document.querySelectorAll("#moved .ribbon")) {
    ribbon.addEventListener("mousemove", (event) => showTip(...pointer(event), ribbon.dataset.words));
    ribbon.addEventListener("mouseleave", hideTip);
  }
  for (const button of document.querySelectorAll("#moved [data-sort]")) {
    button.addEventListener("click", () => {
      const key = button.dataset.sort;
      movedOrder.down = movedOrder.key === key ? !movedOrder.down : key !== "name";
      movedOrder.key = key;
      drawMovers();
    });
  }
  if (byId("moved-rows")) drawMovers();
}
