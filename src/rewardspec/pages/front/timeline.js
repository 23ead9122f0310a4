// Panels over a shared axis of steps, with one cursor. Everything that is drawn comes as numbers; text only as text.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function number(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  return String(Number(x.toPrecision(digits))).replace("-", "−");
}

export const pairColor = (k) => `--pair-${k % 6}`;

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// One canvas: `series` are { kind: "fill" | "line" | "band", values | lower and upper, color, dash, width }.
class Panel {
  constructor(timeline, { name, color = null, height = 64, range = [0, 1], edit = null, extra = null }) {
    Object.assign(this, { timeline, height, range, edit, series: [], marks: [] });
    this.now = element("span", { class: "now number" });
    const title = element("span", { class: "name" });
    if (color) title.append(element("span", { class: "swatch", style: `background: var(${color})` }));
    title.append(name);
    this.head = element("div", { class: "head" }, title, extra, this.now);
    this.canvas = element("canvas", { height, style: `height: ${height}px` });
    this.root = element("div", { class: edit ? "panel editable" : "panel" }, this.head, this.canvas);
    if (edit) this.#listen();
  }

  draw() {
    const { canvas, height, timeline: { length } } = this;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(canvas.clientWidth * ratio)), tall = Math.round(height * ratio);
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== tall) canvas.height = tall;
    const g = canvas.getContext("2d");
    g.clearRect(0, 0, width, tall);
    const [low, high] = this.limits();
    const pad = 4 * ratio, scale = (tall - 2 * pad) / (high - low);
    const y = (v) => tall - pad - (Math.min(Math.max(v, low), high) - low) * scale;
    if (low < 0 && high > 0) {
      g.fillStyle = css("--grid");
      g.fillRect(0, Math.round(y(0)), width, 1);
    }
    const painter = { g, width, length, y, ratio };
    for (const one of this.series) {
      if (one.kind === "fill") fillArea(painter, one.values, y(Math.max(low, 0)), css(one.color));
      else if (one.kind === "band") drawBand(painter, one.lower, one.upper, css(one.color));
      else drawLine(painter, one.values, css(one.color), one.dash, (one.width || 1.6) * ratio);
    }
    if (!this.range) {  // the least and the largest number of the axis
      g.fillStyle = css("--soft");
      g.font = `${10 * ratio}px system-ui, sans-serif`;
      g.textBaseline = "top";
      g.fillText(number(high, 3), 3 * ratio, pad);
      g.textBaseline = "bottom";
      g.fillText(number(low, 3), 3 * ratio, tall - pad);
    }
    for (const { step, color } of this.marks) {
      g.fillStyle = css(color);
      g.fillRect(Math.round(((step + 0.5) * width) / length), 0, Math.max(1, ratio), tall);
    }
  }

  limits() {
    if (this.range) return this.range;
    let low = 0, high = 0;
    for (const { values = [], lower = [], upper = [] } of this.series) {
      for (const column of [values, lower, upper]) {
        for (let k = 0; k < column.length; k++) {
          const v = column[k];
          if (v < low && v !== -Infinity) low = v; else if (v > high && v !== Infinity) high = v;
        }
      }
    }
    return low === high ? [low - 1, high + 1] : [low, high];
  }

  #listen() {
    const canvas = this.canvas;
    let last = null;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      const step = Math.min(this.timeline.length - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * this.timeline.length)));
      const [low, high] = this.limits();
      const share = 1 - (event.clientY - box.top - 4) / (box.height - 8);
      let value = low + Math.min(1, Math.max(0, share)) * (high - low);
      if (event.shiftKey) value = value > (low + high) / 2 ? high : low;
      return { step, value };
    };
    const move = (event) => {
      const next = place(event), from = last || next;
      const count = Math.abs(next.step - from.step), sign = Math.sign(next.step - from.step);
      const values = [];
      for (let k = 0; k <= count; k++) values.push([from.step + sign * k, from.value + ((next.value - from.value) * k) / (count || 1)]);
      last = next;
      this.edit(values);
      this.timeline.setCursor(next.step);
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); last = null; move(event); event.preventDefault(); });
    canvas.addEventListener("pointermove", (event) => { if (last !== null) move(event); });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { last = null; });
  }
}

// Where there are more steps than pixels, each column of pixels shows the least and the largest of its steps.
function columns({ width, length }, values, visit) {
  for (let x = 0; x < width; x++) {
    const from = Math.floor((x * length) / width), to = Math.max(from + 1, Math.floor(((x + 1) * length) / width));
    let low = Infinity, high = -Infinity;
    for (let k = from; k < to && k < values.length; k++) {
      const v = values[k];
      if (v < low) low = v;
      if (v > high) high = v;
    }
    if (low <= high) visit(x, low, high);
  }
}

function fillArea({ g, width, length, y, ratio }, values, base, color) {
  g.fillStyle = color;
  if (length > width) {
    columns({ width, length }, values, (x, low, high) => g.fillRect(x, y(high), 1, Math.max(ratio, base - y(high))));
    return;
  }
  const wide = width / length;
  for (let k = 0; k < values.length; k++) {
    const top = y(values[k]);
    const left = Math.round(k * wide), right = Math.round((k + 1) * wide);
    g.fillRect(left, Math.min(top, base), Math.max(1, right - left - (wide > 9 ? 1 : 0)), Math.abs(base - top));
  }
}

function drawBand({ g, width, length, y }, lower, upper, color) {
  g.fillStyle = color;
  g.globalAlpha = 0.16;
  const wide = width / length;
  if (length > width) {
    for (let x = 0; x < width; x++) {
      const k = Math.floor((x * length) / width);
      if (k < lower.length) g.fillRect(x, y(upper[k]), 1, Math.max(1, y(lower[k]) - y(upper[k])));
    }
  } else {
    g.beginPath();  // one area, so that neighbors leave no seams
    for (let k = 0; k < upper.length; k++) { g.lineTo(k * wide, y(upper[k])); g.lineTo((k + 1) * wide, y(upper[k])); }
    for (let k = lower.length - 1; k >= 0; k--) { g.lineTo((k + 1) * wide, y(lower[k])); g.lineTo(k * wide, y(lower[k])); }
    g.fill();
  }
  g.globalAlpha = 1;
}

function drawLine({ g, width, length, y }, values, color, dash, thick) {
  g.strokeStyle = color;
  g.lineWidth = thick;
  g.setLineDash(dash && length <= width ? [4 * thick, 3 * thick] : []);  // dense lines have no room for dashes
  g.beginPath();
  if (length > width) {
    let before = null;
    columns({ width, length }, values, (x, low, high) => {
      if (before === null) g.moveTo(x, y(low)); else g.lineTo(x, y(before <= low ? low : high));
      g.lineTo(x, y(low));
      g.lineTo(x, y(high));
      before = values[Math.min(values.length - 1, Math.max(0, Math.floor(((x + 1) * length) / width) - 1))];
    });
  } else {
    const wide = width / length;
    let open = false;
    for (let k = 0; k < values.length; k++) {
      if (Number.isNaN(values[k]) || values[k] === null) { open = false; continue; }
      if (!open) g.moveTo(k * wide, y(values[k]));
      g.lineTo(k * wide, y(values[k]));
      g.lineTo((k + 1) * wide, y(values[k]));
      open = true;
    }
  }
  g.stroke();
  g.setLineDash([]);
}

export class Timeline {
  constructor(root, { onCursor = () => {}, describe = null } = {}) {
    Object.assign(this, { root, onCursor, describe, panels: [], length: 1, cursor: 0, waiting: null });
    root.classList.add("timeline");
    this.line = element("div", { class: "cursor" });
    root.append(this.line);
    root.addEventListener("pointermove", (event) => this.#hover(event));
    root.addEventListener("pointerleave", () => this.#tip(null));
    root.addEventListener("click", (event) => {
      if (event.target.tagName === "CANVAS") this.setCursor(this.#step(event));
    });
    new ResizeObserver(() => this.redraw()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  clear(length) {
    this.panels.forEach((panel) => panel.root.remove());
    this.panels = [];
    this.length = length;
    this.cursor = Math.min(this.cursor, length - 1);
  }

  add(options) {
    const panel = new Panel(this, options);
    this.panels.push(panel);
    (options.into || this.root).append(panel.root);
    return panel;
  }

  setCursor(step) {
    this.cursor = Math.min(this.length - 1, Math.max(0, step));
    this.#placeLine();
    this.onCursor(this.cursor);
  }

  // At most one drawing for each frame of the screen.
  redraw() {
    if (this.waiting !== null) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.panels.forEach((panel) => panel.draw());
      this.#placeLine();
    });
  }

  #placeLine() {
    const width = this.root.clientWidth;
    this.line.style.transform = `translateX(${((this.cursor + 0.5) * width) / this.length}px)`;
  }

  #step(event) {
    const box = this.root.getBoundingClientRect();
    return Math.floor(((event.clientX - box.left) / box.width) * this.length);
  }

  #hover(event) {
    const panel = this.panels.find((one) => one.canvas === event.target);
    if (!panel || !this.describe || event.buttons) return this.#tip(null);
    const step = Math.min(this.length - 1, Math.max(0, this.#step(event)));
    return this.#tip(this.describe(panel, step), event);
  }

  #tip(content, event) {
    if (!content) { if (this.tip) this.tip.hidden = true; return; }
    if (!this.tip) { this.tip = element("div", { class: "tip", role: "status" }); document.body.append(this.tip); }
    this.tip.hidden = false;
    this.tip.replaceChildren(...[content].flat());
    const box = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.max(6, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    this.tip.style.top = `${event.clientY + 16 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 16}px`;
  }
}

// A name, a bar and a number for each cell; bars from the least to the largest value.
export function gauges(root, rows, color = "--strip") {
  while (root.children.length > 3 * rows.length) root.lastChild.remove();
  rows.forEach(([name, value, low = 0, high = 1], k) => {
    if (root.children.length < 3 * (k + 1)) {
      root.append(element("span", { class: "name mono" }), element("span", { class: "gauge" }, element("i", { style: `background: var(${color})` })), element("span", { class: "number" }));
    }
    const [label, gauge, shown] = [0, 1, 2].map((i) => root.children[3 * k + i]);
    if (label.textContent !== name) label.textContent = name;
    const share = Number.isFinite(value) ? (value - low) / (high - low || 1) : value > 0 ? 1 : 0;
    gauge.firstChild.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
    shown.textContent = number(value);
  });
}

// The equations of the control state that a machine is in.
export function showEquations(root, equations, control) {
  root.replaceChildren(...equations[control].map((line) => element("div", {}, line)));
}
