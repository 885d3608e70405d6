// The search, the keys and buttons of the map, and the start of the page.
// Search

const search = $("search");
const list = $("suggestions");
const keys = data.ids.map((id) => id.toLowerCase());
let offered = [];
let active = -1;

function suggest() {
  const wanted = search.value.trim().toLowerCase();
  const start = [];
  const inside = [];
  for (let i = 0; wanted && i < count && start.length < 8; i++) {
    if (keys[i].startsWith(wanted)) start.push(i);
    else if (inside.length < 8 && keys[i].includes(wanted)) inside.push(i);
  }
  const exact = keys.indexOf(wanted);
  offered = [...new Set([...(exact >= 0 ? [exact] : []), ...start, ...inside])].slice(0, 8);
  active = offered.length ? 0 : -1;
  list.replaceChildren(
    ...offered.map((node, i) => {
      const item = make("li", data.ids[node]);
      item.id = `suggestion-${i}`;
      item.setAttribute("role", "option");
      item.addEventListener("mousedown", (event) => {
        event.preventDefault(); // keep the focus in the field
        pick(i);
      });
      return item;
    }),
  );
  if (wanted && !offered.length) {
    const none = make("li", "no such id on the map", "none");
    none.setAttribute("role", "option");
    none.setAttribute("aria-disabled", "true");
    list.append(none);
  }
  open(Boolean(wanted));
  point();
}
function open(yes) {
  list.hidden = !yes;
  search.setAttribute("aria-expanded", String(yes));
  if (!yes) search.removeAttribute("aria-activedescendant");
}
function point() {
  [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === active)));
  if (active >= 0 && !list.hidden) search.setAttribute("aria-activedescendant", `suggestion-${active}`);
}
function pick(i) {
  if (offered[i] === undefined) return;
  search.value = data.ids[offered[i]];
  open(false);
  choose(offered[i], false);
}
search.addEventListener("input", suggest);
search.addEventListener("blur", () => open(false));
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    if (list.hidden) suggest();
    pick(Math.max(active, 0));
  } else if (event.key === "Escape") {
    if (list.hidden) choose(null);
    open(false);
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (list.hidden) suggest();
    const step = event.key === "ArrowDown" ? 1 : -1;
    if (offered.length) active = (active + step + offered.length) % offered.length;
    point();
  } else return;
  event.preventDefault();
});

// Panning and zooming

function view(zoom, right, up) {
  const { xaxis, yaxis } = plot._fullLayout;
  const change = {};
  for (const [name, axis, shift] of [["xaxis", xaxis, right], ["yaxis", yaxis, up]]) {
    const [low, high] = axis.range;
    const middle = (low + high) / 2 + shift * (high - low);
    const half = ((high - low) / 2) * zoom;
    change[`${name}.range`] = [middle - half, middle + half];
  }
  return Plotly.relayout(plot, change);
}
function showAll() {
  const [x, y] = bounds();
  return Plotly.relayout(plot, { "xaxis.range": x, "yaxis.range": y });
}
function closer() {
  const shown = [state.chosen, ...data.nearest[state.chosen], ...neighborsOf(state.chosen).filter((i) => typeof i === "number")];
  const [x, y] = bounds(shown);
  return Plotly.relayout(plot, { "xaxis.range": x, "yaxis.range": y });
}
$("closer").addEventListener("click", closer);
const MOVES = {
  "+": () => view(0.7, 0, 0), "=": () => view(0.7, 0, 0), "-": () => view(1 / 0.7, 0, 0), 0: showAll,
  ArrowLeft: () => view(1, -0.15, 0), ArrowRight: () => view(1, 0.15, 0), ArrowUp: () => view(1, 0, 0.15), ArrowDown: () => view(1, 0, -0.15),
};
plot.addEventListener("keydown", (event) => {
  const move = event.ctrlKey || event.metaKey || event.altKey ? undefined : MOVES[event.key];
  if (move) {
    event.preventDefault();
    move();
  } else if (event.key === "Escape") choose(null);
});
for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", { in: MOVES["+"], out: MOVES["-"], all: showAll }[button.dataset.zoom]);
}

// The rest of the page

$("colour").addEventListener("change", (event) => {
  state.column = Number(event.target.value);
  state.hidden.clear();
  legend();
  show();
  draw();
});
$("plane").addEventListener("change", (event) => {
  state.plane = event.target.value;
  words();
  draw();
});
$("clear").addEventListener("click", () => {
  choose(null);
  search.value = "";
  search.focus();
});
function words() {
  $("plane-words").textContent = state.plane.startsWith("principal")
    ? `The first two principal components explain ${(100 * data.explained).toFixed(0)} % of the variance. ${data.unit === "node" ? "Nodes" : "Graphs"} that are far apart here are far apart in the embedding; those close together may still differ in other directions.`
    : `UMAP keeps similar ${data.unit}s together; the sizes of groups and the distances between them mean little.`;
}
$("copy").addEventListener("click", async () => {
  const text = $("usage").textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // some browsers deny the clipboard to local files: copy a selection instead
    const range = document.createRange();
    range.selectNodeContents($("usage"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.execCommand("copy");
  }
  $("copy").textContent = "Copied";
  setTimeout(() => { $("copy").textContent = "Copy"; }, 2000);
});
function recolour() {
  legend();
  show();
  return draw();
}
scheme.addEventListener("change", recolour);
for (const [event, yes] of [["beforeprint", true], ["afterprint", false]]) {
  window.addEventListener(event, () => {
    printing = yes;
    recolour();
  });
}

$("colour").value = $("colour").options[0].value; // a reloaded page may remember an old choice
$("plane").selectedIndex = 0;
state.column = Number($("colour").value);
legend();
words();
draw().then(() => {
  plot.on("plotly_hover", hover);
  plot.on("plotly_unhover", () => { $("card").hidden = true; });
  plot.on("plotly_click", (event) => {
    const node = event.points[0].customdata;
    if (typeof node === "number") choose(node, false);
  });
  document.documentElement.dataset.ready = "yes";
});
