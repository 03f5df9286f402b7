const specs = JSON.parse(document.getElementById("charts").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
const options = { ast: true, actions: false, defaultStyle: false, renderer: "svg", tooltip: { disableDefaultStyle: true } };
if (dark) {
  options.theme = "dark";
  options.config = { background: "transparent" };
}
specs.forEach((spec, at) => vegaEmbed(`#chart-${at}`, spec, options));
