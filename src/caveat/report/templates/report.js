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

  // Filtering: tables of some length get a field; only rows with all its words are shown.
  const FEW = 8;
  function filter(table, words, said) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = Array.from(table.tBodies[0].rows);
    rows.forEach((row) => {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
    });
    const left = rows.filter((row) => !row.hidden).length;
    said.textContent = wanted.length ? left + " of " + rows.length + " rows" : "";
  }
  document.querySelectorAll("table.sortable").forEach((table) => {
    if (table.tBodies[0].rows.length < FEW) return;
    const wrap = table.closest(".wrap");
    const label = document.createElement("label");
    const field = document.createElement("input");
    const said = document.createElement("span");
    label.className = "filter";
    field.type = "search";
    field.setAttribute("aria-label", "Show only rows with these words: " + wrap.getAttribute("aria-label"));
    said.setAttribute("role", "status");
    label.append("Only rows with ", field, said);
    wrap.before(label);
    field.addEventListener("input", () => filter(table, field.value, said));
  });

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
