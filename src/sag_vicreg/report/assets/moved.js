// What moved: pictures beside the flow, and the table of items, sorted as the reader likes.
const moved = data.moved;
const movedOrder = { key: "motion", down: true };

/** A picture of an item, or its name where there is none. */
function movedItem(item, size) {
  const label = item.text || (item.class ?? item.name);
  if (item.point !== null && atlas && tileOf[item.point] >= 0) {
    const shown = picture(item.point, size);
    shown.title = label;
    return shown;
  }
  const shown = item.text ? shortenEnd(item.text, 34) : shorten(label, 42);
  return element("span", { class: "chip", title: item.text || item.name }, shown);
}

function movedRow(item) {
  // Beside its name, a chip of the same words would say nothing.
  const lead = item.point !== null && hasPicture(item.point) ? [movedItem(item, 44)] : [];
  const about = item.text ? [item.class, item.name] : item.class ? [item.name] : [];
  const own = element("td", {}, element("div", { class: "moved-item" }, ...lead,
    element("span", { class: item.text ? "moved-name text" : "moved-name" }, item.text ? shortenEnd(item.text, 160) : item.class ?? item.name,
      element("small", {}, about.filter(Boolean).join(" · ")))));
  const near = (items) => element("td", {}, element("div", { class: "moved-near" }, ...items.map((each) => movedItem(each, 34))));
  return element("tr", {}, own,
    element("td", {}, item.motion.toFixed(2)),
    element("td", {}, `${Math.round(100 * item.lost)}%`),
    near(item.old), near(item.new));
}

function drawMovers() {
  const { key, down } = movedOrder;
  const value = (item) => (key === "name" ? item.text || (item.class ?? item.name) : item[key]);
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
    const points = holder.dataset.points.split(" ").filter(Boolean).map(Number);
    const pictured = points.filter(hasPicture).map((i) => picture(i, 28));
    // The first example names the branch; below its two lines there is room for so many more.
    const room = Math.floor((holder.closest("li").clientHeight - 46) / 20);
    const told = points.slice(1, 1 + room).filter(textOf).map((i) => element("small", {}, `“${shortenEnd(textOf(i), 40)}”`));
    holder.replaceChildren(...(pictured.length ? pictured : told));
    holder.classList.toggle("told", !pictured.length);
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
