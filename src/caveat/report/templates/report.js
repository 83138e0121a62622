"use strict";
(function () {
  // Sorting: a click on a heading, or Enter or Space on it, sorts by its column; again turns it round.
  function key(row, place) {
    const cell = row.cells[place];
    if (cell.dataset.sort !== undefined) {
      const number = Number(cell.dataset.sort);
      return Number.isNaN(number) ? cell.dataset.sort : number;
    }
    const text = cell.firstChild ? cell.firstChild.textContent.trim() : "";
    return text === "–" ? "" : text;
  }
  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }
  function sort(table, heading) {
    const place = heading.cellIndex;
    const way = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [key(row, place), row]);
    // What is not there comes last, whichever way.
    rows.sort(([a], [b]) =>
      a === "" || b === "" ? (a === "") - (b === "") : (way === "ascending" ? 1 : -1) * compare(a, b));
    rows.forEach(([, row]) => body.append(row));
    table.querySelectorAll("thead th").forEach((th) => th.setAttribute("aria-sort", th === heading ? way : "none"));
  }
  document.querySelectorAll("table.sortable").forEach((table) =>
    table.querySelectorAll("thead button").forEach((button) =>
      button.addEventListener("click", () => sort(table, button.closest("th")))));

  // Charts: all specifications are in the page, nothing is loaded.
  const page = document.documentElement;
  const source = document.getElementById("charts");
  if (!source) { page.dataset.charts = "0"; return; }
  const config = JSON.parse(document.getElementById("config").textContent);
  config.font = getComputedStyle(document.body).fontFamily;
  const options = { actions: false, renderer: "svg", mode: "vega-lite", config };
  const drawn = Object.entries(JSON.parse(source.textContent)).map(([id, spec]) =>
    vegaEmbed(document.getElementById(id), spec, options));
  Promise.all(drawn).then(() => { page.dataset.charts = String(drawn.length); });
})();
