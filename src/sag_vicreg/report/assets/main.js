// Start every part, and redraw when the reader's colour scheme changes.
function startCopyButtons() {
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  }
}

async function start() {
  startCopyButtons();
  startToolbar();
  startNeighbours();
  startMoved();
  startWhole();
  await startTrees();
  await startMaps();
  drawCharts();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    set({ level: state.level });
    drawCharts();
  });
  document.documentElement.dataset.ready = "yes";
}

start();
