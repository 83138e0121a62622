"use strict";
(function () {
  // Charts: their specifications are in the page. No text is turned into code, no style is put in:
  // the page allows neither.
  const points = Array.from(document.querySelectorAll("a[data-place]"));
  const draw = async (place) => {
    const says = document.createElement("p");
    says.className = "small";
    says.setAttribute("aria-hidden", "true");
    says.textContent = "\u00a0";
    place.after(says);
    const tell = (handler, event, item, value) => {
      const told = value && typeof value === "object" ? Object.entries(value) : [];
      says.textContent = told.map(([name, text]) => name + ": " + text).join("; ") || "\u00a0";
    };
    const spec = JSON.parse(place.dataset.chart);
    spec.config.font = getComputedStyle(document.body).fontFamily;
    const options = { actions: false, renderer: "svg", mode: "vega-lite", ast: true, defaultStyle: false, tooltip: tell };
    const { view } = await window.vegaEmbed(place, spec, options);
    // A click on a point is the click on its name in the table.
    view.addEventListener("click", (event, item) => {
      const at = item && item.datum ? String(item.datum.place) : "";
      const link = points.find((one) => one.dataset.place === at);
      if (link) link.click();
    });
  };
  const drawn = Array.from(document.querySelectorAll("[data-chart]"), draw);
  Promise.all(drawn).then(() => { document.documentElement.dataset.charts = String(drawn.length); });
})();
