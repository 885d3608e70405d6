// The map: colours, drawing, the legend, and the columns and neighbours of a node. page.py runs this file and controls.js
// in one function. Strings from the data are inserted as text, never as HTML.
const data = JSON.parse(document.getElementById("report-data").textContent);
const $ = (id) => document.getElementById(id);
const plot = $("plot");
const count = data.ids.length;
const neighborsOf = (node) => data.neighbors?.[node] ?? []; // the graphs of a set have no neighbours

// Ten colours that colour-blind readers can distinguish (Petroff 2021); the next ten use another symbol. Dark mode
// uses lighter versions of the darkest.
const COLOURS = ["#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"];
const LIGHTER = { "#bd1f01": "#e04a2c", "#832db6": "#aa6ad8", "#717581": "#8d92a1" };
const SYMBOLS = ["circle", "diamond"];
const MAX_LEVELS = COLOURS.length * SYMBOLS.length;
// Viridis without the end that is close to the background.
const RAMPS = {
  light: ["#c8dc33", "#6ccd5a", "#27ad81", "#21908d", "#31688e", "#443a83", "#440154"],
  dark: ["#46488c", "#31688e", "#21908d", "#27ad81", "#5cc863", "#aadc32", "#fde725"],
};
const SIZE = count < 300 ? 9 : count < 2500 ? 7 : count < 6000 ? 5 : 4;
const CARD_COLUMNS = 10;

const scheme = window.matchMedia("(prefers-color-scheme: dark)");
let printing = false;
const dark = () => scheme.matches && !printing;
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const state = { column: 0, plane: Object.keys(data.maps)[0], hidden: new Set(), chosen: null };

// SVG prints best; many points need WebGL, if the browser has it.
const kind = count > 3000 && webgl() ? "scattergl" : "scatter";
function webgl() {
  try {
    return Boolean(document.createElement("canvas").getContext("webgl"));
  } catch {
    return false;
  }
}

function make(tag, text, name) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
}

// Values

function number(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
}
function format(column, value) {
  if (value === null || value === undefined) return "–";
  if (column.kind === "date") return new Date(value).toISOString().slice(0, 10);
  if (column.kind === "time") return new Date(value).toISOString().slice(0, 16).replace("T", " ");
  return number(value);
}
function valueOf(column, node) {
  if (column.texts) return column.texts[node] ?? "–";
  if (column.kind === "category") return column.codes[node] < 0 ? "missing" : column.levels[column.codes[node]];
  return format(column, column.values[node]);
}

// Colours

const levelOf = (column, node) => {
  const code = column.codes[node];
  return code < 0 ? "missing" : column.levels.length > MAX_LEVELS && code >= MAX_LEVELS - 1 ? "other" : code;
};
function look(level) {
  if (typeof level === "string") return { color: css("--missing"), symbol: level === "other" ? "circle" : "circle-open" };
  const colour = COLOURS[level % COLOURS.length];
  return { color: (dark() && LIGHTER[colour]) || colour, symbol: SYMBOLS[Math.floor(level / COLOURS.length) % SYMBOLS.length] };
}
function ramp(column) {
  const colours = RAMPS[dark() ? "dark" : "light"];
  const bend = column.log ? (v) => Math.log1p(v) : (v) => v;
  const low = bend(column.low);
  const span = bend(column.high) - low || 1;
  const fraction = (v) => Math.min(1, Math.max(0, (bend(v) - low) / span));
  const middle = column.log ? Math.expm1(low + span / 2) : (column.low + column.high) / 2;
  return { colours, fraction, middle };
}
function mix(colours, fraction) {
  const at = fraction * (colours.length - 1);
  const i = Math.min(Math.floor(at), colours.length - 2);
  const part = (colour, k) => parseInt(colour.slice(1 + 2 * k, 3 + 2 * k), 16);
  const channel = (k) => Math.round(part(colours[i], k) + (at - i) * (part(colours[i + 1], k) - part(colours[i], k)));
  return `rgb(${channel(0)},${channel(1)},${channel(2)})`;
}
function lookOf(node) {
  const column = data.columns[state.column];
  if (column.kind === "category") return look(levelOf(column, node));
  const value = column.values[node];
  if (value === null) return look("missing");
  const { colours, fraction } = ramp(column);
  return { color: mix(colours, fraction(value)), symbol: "circle" };
}

// Drawing

function groups() {
  const column = data.columns[state.column];
  const result = new Map();
  for (let node = 0; node < count; node++) {
    const level = column.kind === "category" ? levelOf(column, node) : column.values[node] === null ? "missing" : "value";
    if (!result.has(level)) result.set(level, []);
    result.get(level).push(node);
  }
  const rank = (level) => (typeof level === "number" ? level : level === "value" ? 0 : level === "other" ? MAX_LEVELS : MAX_LEVELS + 1);
  return [...result].sort((a, b) => rank(a[0]) - rank(b[0]));
}
function points(nodes, rest) {
  const [x, y] = data.maps[state.plane];
  return { type: kind, mode: "markers", x: nodes.map((i) => x[i]), y: nodes.map((i) => y[i]), customdata: nodes, hoverinfo: "none", showlegend: false, ...rest };
}
function traces() {
  const column = data.columns[state.column];
  const faded = state.chosen === null ? 0.85 : 0.25;
  const base = groups().map(([level, nodes]) => {
    const marker = { size: SIZE, opacity: faded, line: { width: 0 } };
    if (level === "value") marker.color = nodes.map((i) => lookOf(i).color);
    else Object.assign(marker, look(level));
    if (marker.symbol === "circle-open") marker.line = { width: 1 };
    return points(nodes, { name: level === "value" ? column.name : String(column.levels?.[level] ?? level), marker, visible: !state.hidden.has(level) });
  });
  base.reverse(); // missing values are drawn first, below the others
  return base.concat(highlighted());
}
function highlighted() {
  if (state.chosen === null) return [];
  const [x, y] = data.maps[state.plane];
  const node = state.chosen;
  const nearest = data.nearest[node];
  const neighbors = neighborsOf(node).filter((other) => typeof other === "number");
  const rings = (nodes, name, colour, symbol, size) =>
    points(nodes, { type: "scatter", name, marker: { size, symbol, color: nodes.map((i) => lookOf(i).color), line: { width: 2, color: colour } } });
  const spokes = neighbors.flatMap((i) => [[x[node], y[node]], [x[i], y[i]], [null, null]]);
  return [
    { type: "scatter", mode: "lines", name: "edges", x: spokes.map((p) => p[0]), y: spokes.map((p) => p[1]), hoverinfo: "skip", showlegend: false, line: { width: 1, color: css("--neighbors") }, opacity: 0.6 },
    rings(neighbors, "neighbors", css("--neighbors"), "diamond", SIZE + 7),
    rings(nearest, "nearest", css("--accent"), "circle", SIZE + 4),
    rings([node], "chosen", css("--ink"), "circle", SIZE + 8),
  ];
}
function bounds(nodes) {
  const range = (all) => {
    const values = nodes ? nodes.map((i) => all[i]) : all;
    const low = values.reduce((a, b) => Math.min(a, b), Infinity);
    const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
    const room = 0.06 * (high - low) || 1;
    return [low - room, high + room];
  };
  return data.maps[state.plane].map(range);
}
const touch = window.matchMedia("(pointer: coarse)").matches;
function layout() {
  const [x, y] = bounds();
  const axis = { showgrid: false, zeroline: false, showticklabels: false, ticks: "", showline: false };
  return {
    margin: { l: 8, r: 8, t: 8, b: 8 },
    xaxis: { ...axis, range: x },
    yaxis: { ...axis, range: y, scaleanchor: "x" }, // the same scale on both axes
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    hovermode: "closest",
    hoverdistance: 12,
    dragmode: touch ? false : "pan", // a finger scrolls the page
    uirevision: state.plane, // a new colour keeps the view
    showlegend: false,
    // Paper is narrower than the window, and plotly does not notice.
    ...(printing ? { autosize: false, width: 650, height: 440 } : { autosize: true }),
  };
}
function draw() {
  plot.dataset.scheme = dark() ? "dark" : "light";
  return Plotly.react(plot, traces(), layout(), { displayModeBar: false, responsive: true, doubleClick: "reset", scrollZoom: false });
}

// The legend: classes that can be hidden, or a colour scale

function mark(style) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 14 14");
  svg.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
  shape.setAttribute("d", style.symbol === "diamond" ? "M7 0L14 7L7 14L0 7Z" : "M7 1a6 6 0 1 1 0 12a6 6 0 1 1 0-12Z");
  shape.setAttribute("fill", style.symbol === "circle-open" ? "none" : style.color);
  if (style.symbol === "circle-open") shape.setAttribute("stroke", style.color);
  svg.append(shape);
  return svg;
}
function legend() {
  const column = data.columns[state.column];
  const items = [];
  if (column.kind !== "category") {
    const { colours, middle } = ramp(column);
    const box = make("div", undefined, "ramp");
    const bar = make("i");
    bar.style.background = `linear-gradient(to right, ${colours.join(",")})`;
    const ends = make("div");
    for (const value of [column.low, middle, column.high]) ends.append(make("span", format(column, value)));
    box.append(bar, ends);
    items.push(box);
  }
  for (const [level, nodes] of groups()) {
    if (level === "value") continue;
    const button = make("button");
    button.type = "button";
    const name = level === "other" ? `${column.levels.length - MAX_LEVELS + 1} others` : column.levels?.[level] ?? level;
    button.append(mark(look(level)), make("span", name, "name"), make("span", number(nodes.length), "many"));
    button.setAttribute("aria-pressed", String(!state.hidden.has(level)));
    button.title = "Show or hide";
    button.addEventListener("click", () => {
      if (!state.hidden.delete(level)) state.hidden.add(level);
      button.setAttribute("aria-pressed", String(!state.hidden.has(level)));
      draw();
    });
    items.push(button);
  }
  $("legend").replaceChildren(...items);
}

// The columns of a node

function rows(node, columns) {
  return columns.map((column) => {
    const pair = make("div");
    pair.append(make("dt", column.name), make("dd", valueOf(column, node)));
    return pair;
  });
}
function hover(event) {
  const node = event.points[0].customdata;
  if (typeof node !== "number") return;
  const card = $("card");
  const list = make("dl");
  list.append(...rows(node, data.columns.slice(0, CARD_COLUMNS)));
  card.replaceChildren(make("b", data.ids[node]), list);
  if (data.columns.length > CARD_COLUMNS) card.append(make("span", `and ${data.columns.length - CARD_COLUMNS} more: click to see them`, "many"));
  card.hidden = false;
  const box = plot.getBoundingClientRect();
  const x = event.event.clientX - box.left;
  const y = event.event.clientY - box.top;
  const left = x + 16 + card.offsetWidth < box.width ? x + 16 : Math.max(4, x - 16 - card.offsetWidth);
  card.style.left = `${left}px`;
  card.style.top = `${Math.max(4, Math.min(y - 12, box.height - card.offsetHeight - 4))}px`;
}

// A node and its neighbours

const cosine = (value) => value.toFixed(2).replace("-", "−");
function entry(other, similarity, both) {
  const item = make("li");
  if (typeof other === "string") {
    const away = make("span", undefined, "away");
    away.title = "not on the map";
    away.append(make("span", other, "who"), make("span", cosine(similarity), "how"));
    item.append(away);
  } else {
    const button = make("button");
    button.type = "button";
    button.dataset.node = other;
    button.append(mark(lookOf(other)), make("span", data.ids[other], "who"), make("span", cosine(similarity), "how"));
    if (both) button.title = "in both lists";
    button.addEventListener("click", () => choose(other, true));
    item.append(button);
  }
  if (both) item.className = "both";
  return item;
}
function show() {
  const node = state.chosen;
  $("chosen").hidden = node === null;
  $("hint").hidden = node !== null;
  if (node === null) return;
  const nearest = data.nearest[node];
  const neighbors = neighborsOf(node);
  const both = new Set(nearest.filter((other) => neighbors.includes(other)));
  $("chosen-id").textContent = data.ids[node];
  $("chosen-row").replaceChildren(...rows(node, data.columns));
  $("nearest").replaceChildren(...nearest.map((other, i) => entry(other, data.nearest_similarity[node][i], both.has(other))));
  if (!data.neighbors) {
    $("chosen-words").textContent = "Numbers are cosine similarities.";
    return;
  }
  const degree = data.degree[node];
  const more = degree > neighbors.length ? ` The list shows the ${neighbors.length} most similar of ${number(degree)} neighbours.` : "";
  $("chosen-words").textContent = degree
    ? `${both.size} of ${nearest.length} are in both lists (bold). Numbers are cosine similarities.${more}`
    : "This node has no neighbours in the graph. Numbers are cosine similarities.";
  $("neighbors").replaceChildren(...neighbors.map((other, i) => entry(other, data.neighbor_similarity[node][i], both.has(other))));
}
function choose(node, focus) {
  state.chosen = node;
  show();
  if (node !== null) {
    $("status").textContent = `${data.ids[node]} is selected; its ${data.neighbors ? "neighbours" : "nearest graphs"} are listed.`;
    if (focus) $("chosen-id").focus({ preventScroll: false });
  } else $("status").textContent = "";
  return draw();
}
