// Which two models, which level, and the legend, which also singles out a group.
function drawLegend() {
  const legend = byId("legend");
  if (!level() || !legend) return;
  legend.replaceChildren(
    ...level().names.map((name, group) => {
      const { glyph, color } = markOf(group);
      const sign = element("span", { class: "glyph", "aria-hidden": "true" }, glyph);
      sign.style.color = color;
      const button = element("button", { type: "button", "aria-pressed": String(state.group === group) }, sign, name);
      button.addEventListener("click", () => set({ group: state.group === group ? null : group }));
      return button;
    }),
  );
}

function startToolbar() {
  const sides = { left: byId("left-model"), right: byId("right-model") };
  if (sides.left) {
    for (const [side, select] of Object.entries(sides)) {
      select.addEventListener("change", () => {
        const other = side === "left" ? "right" : "left";
        const chosen = Number(select.value);
        // A model against itself says nothing: choosing the other side's model swaps the two.
        const swapped = chosen === state[other] ? { [other]: state[side] } : {};
        set({ [side]: chosen, ...swapped, branch: null });
      });
    }
    const follow = () => {
      sides.left.value = state.left;
      sides.right.value = state.right;
    };
    watch(["left", "right"], follow);
    follow();
  }
  const levels = byId("level");
  if (levels) {
    levels.value = state.level;
    levels.addEventListener("change", () => set({ level: Number(levels.value), group: null }));
  }
  watch(["level", "group"], drawLegend);
  drawLegend();
}
