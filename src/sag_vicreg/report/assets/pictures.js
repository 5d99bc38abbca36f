// Thumbnails from the WebP atlases, and the one tooltip that shows them.
const atlas = data.thumbnails;
const atlasUrls = (atlas?.atlases ?? []).map((base64) =>
  URL.createObjectURL(new Blob([decode({ dtype: "u1", base64 })], { type: "image/webp" })),
);
const tileOf = atlas ? decode(atlas.tiles) : null;

const hasPicture = (i) => Boolean(tileOf) && tileOf[i] >= 0;

/** The picture of point i, `size` CSS pixels wide; where there is none, its group's mark. */
function picture(i, size) {
  const span = element("span", { class: "tile", role: "img", "aria-label": pointName(i) });
  span.style.width = span.style.height = `${size}px`;
  if (!hasPicture(i)) {
    const { glyph, color } = markOf(groupOfPoint(i));
    span.classList.add("blank");
    span.style.color = color;
    span.textContent = glyph;
    return span;
  }
  const tile = tileOf[i];
  const perAtlas = atlas.columns ** 2;
  const place = tile % perAtlas;
  const [column, row] = [place % atlas.columns, Math.floor(place / atlas.columns)];
  span.style.backgroundImage = `url(${atlasUrls[Math.floor(tile / perAtlas)]})`;
  span.style.backgroundSize = `${atlas.columns * size}px auto`;
  span.style.backgroundPosition = `${-column * size}px ${-row * size}px`;
  return span;
}

/** What stands for point i: its picture; else the beginning of its text; else its group's mark. */
function tile(i, size) {
  const text = hasPicture(i) ? null : textOf(i);
  if (!text) return picture(i, size);
  return element("span", { class: "text-tile", title: text }, shortenEnd(text, 90));
}

/** Examples as pictures, or as lines of text where they have no pictures; nothing for neither. */
function examplesOf(points, size) {
  const pictured = points.filter(hasPicture);
  if (pictured.length) return [element("div", { class: "pictures" }, ...pictured.map((i) => picture(i, size)))];
  return points.filter(textOf).slice(0, 3).map((i) => element("small", {}, `“${shortenEnd(textOf(i), 120)}”`));
}

const tip = byId("tip");

/** Show the tooltip near (x, y), inside the window. */
function showTip(x, y, ...content) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 18 + width > innerWidth ? x - width - 18 : x + 18;
  tip.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  tip.style.top = `${Math.max(8, Math.min(y - height / 2, innerHeight - height - 8))}px`;
}

function hideTip() {
  tip.hidden = true;
}

/** Where the pointer is; a tap has its position in its first touch. */
function pointer(event) {
  const at = event?.changedTouches?.[0] ?? event;
  return [at?.clientX ?? innerWidth / 2, at?.clientY ?? innerHeight / 2];
}

function describePoint(i) {
  const content = [element("strong", {}, pointName(i))];
  if (textOf(i)) content.push(element("span", { class: "own-text" }, textOf(i)));
  if (classOf && data.levels.length > 1) content.push(element("small", {}, pathOfClass(classOf[i])));
  if (classOf && data.points.ids) content.push(element("small", {}, data.points.ids[i]));
  return content;
}

function describeClass(c, examples) {
  const content = examplesOf(examples, 52);
  content.push(element("strong", {}, data.classes[c]));
  if (data.levels.length > 1) content.push(element("small", {}, pathOfClass(c)));
  return content;
}
