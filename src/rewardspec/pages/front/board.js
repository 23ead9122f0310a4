import { Timeline, element, number, pairColor } from "./timeline.js";

// Signals that can be drawn, and what machines make of them, step by step, in the browser.

const EVERY = 50;  // how many steps apart states are kept

// One machine over all steps. States are values, so that a run goes on from any that was kept.
class Run {
  // Labels from the threshold on count as 1 and others as 0; values count as if they were within [-bound, bound].
  constructor(machine, length, isSpec, threshold, bound) {
    Object.assign(this, { machine, length, isSpec, kept: [] });
    this.read = threshold === null ? (label) => label : (label) => (label >= threshold ? 1 : 0);
    this.within = bound === null ? (value) => value : (value) => Math.min(Math.max(value, -bound), bound);
    this.result = new Float64Array(length);
    this.lower = machine.bounds ? new Float64Array(length) : null;
    this.upper = machine.bounds ? new Float64Array(length) : null;
    this.progress = machine.progress ? new Float64Array(length) : null;
  }

  advance(from, signals) {
    const { machine, length, isSpec, result, lower, upper, progress, kept } = this;
    const first = Math.floor(from / EVERY);
    let state = first === 0 ? null : kept[first - 1];
    const labels = {}, every = Math.max(1, Math.floor(length / 2000));
    let low = 0, high = 1;
    const columns = machine.atoms.map((atom) => [atom, signals.get(atom)]);
    for (let k = first * EVERY; k < length; k++) {
      for (const [atom, column] of columns) labels[atom] = this.read(column[k]);
      state = this.step(state, labels, k);
      result[k] = isSpec ? state.reward : this.within(state.value);
      // Of many steps, only as many bounds as a screen has pixels: they cost more than the step.
      if (lower && (k % every === 0 || k === first * EVERY)) [low, high] = this.bounds(state);
      if (lower) { lower[k] = low; upper[k] = high; }
      if (progress) progress[k] = machine.progress(state);
      if ((k + 1) % EVERY === 0) kept[(k + 1) / EVERY - 1] = state;
    }
  }

  // The least and the largest value that is still possible.
  bounds(state) {
    return this.machine.bounds(state).map(this.within);
  }

  step(state, labels, k) {
    if (!this.isSpec) return this.machine.step(state || this.machine.reset(), labels);
    if (k === 0) return this.machine.start(labels);
    return this.machine.step(state, labels, { truncated: k === this.length - 1 });
  }

  // The state after a step.
  at(step, signals) {
    let state = step < EVERY ? null : this.kept[Math.floor(step / EVERY) - 1];
    const labels = {};
    for (let k = Math.floor(step / EVERY) * EVERY; k <= step; k++) {
      for (const atom of this.machine.atoms) labels[atom] = this.read(signals.get(atom)[k]);
      state = this.step(state, labels, k);
    }
    return state;
  }
}

const WAYS = { value: "--reward", delta: "--pair-1", potential: "--pair-2", final: "--pair-3" };

export class Board {
  constructor(root, { length = 100, onChange = () => {}, onCursor = () => {} } = {}) {
    Object.assign(this, { length, onChange, onCursor, signals: new Map(), monitors: [], specs: null, names: [], payment: "value", real: false });
    this.timeline = new Timeline(root, { onCursor: (step) => this.#told(step), describe: (panel, step) => this.#describe(panel, step) });
    this.pending = null;
  }

  // The machines of formulas, by name; null where a formula has none. `specs` has the reward under each way to pay.
  load({ names, monitors, specs, payment, real, threshold = null, bound = null }) {
    this.names = names;
    this.payment = payment;
    this.real = real;
    const atoms = [...new Set([...monitors.filter(Boolean), ...(specs ? [specs.value] : [])].flatMap((machine) => machine.atoms))];
    for (const atom of atoms) if (!this.signals.has(atom)) this.signals.set(atom, first(this.length, real, this.signals.size));
    this.atoms = atoms;
    this.monitors = monitors.map((machine) => machine && new Run(machine, this.length, false, threshold, bound));
    this.specs = specs ? Object.fromEntries(Object.entries(specs).map(([way, machine]) => [way, new Run(machine, this.length, true, threshold, bound)])) : null;
    this.#build();
    this.recompute(0);
  }

  resize(length) {
    const old = this.signals;
    this.length = length;
    this.signals = new Map([...old].map(([atom, column]) => [atom, Float64Array.from({ length }, (_, k) => column[k % column.length])]));
  }

  set(atom, values) {
    const column = this.signals.get(atom);
    for (let k = 0; k < this.length; k++) column[k] = this.clipped(values(k));
    this.recompute(0);
    this.onChange();
  }

  clipped(x) {
    return this.real ? x : Math.min(1, Math.max(0, x));
  }

  // Steps from the first that changed, at most once for each frame of the screen.
  recompute(from) {
    if (this.pending !== null) { this.pending = Math.min(this.pending, from); return; }
    this.pending = from;
    requestAnimationFrame(() => {
      const start = this.pending;
      this.pending = null;
      for (const run of this.monitors) if (run) run.advance(start, this.signals);
      for (const run of Object.values(this.specs || {})) run.advance(start, this.signals);
      this.timeline.redraw();
      this.#told(this.timeline.cursor);
    });
  }

  #build() {
    const { timeline, real } = this;
    timeline.clear(this.length);
    this.panels = { atoms: [], formulas: [], reward: null };
    for (const atom of this.atoms) {
      const low = real ? -1 : 0;
      const button = (text, title, values) => element("button", { class: "small plain", title, onclick: () => this.set(atom, values) }, text);
      const extra = element("span", {}, button(String(low).replace("-", "−"), "low everywhere", () => low), button("1", "high everywhere", () => 1), button("~", "at random", () => low + Math.random() * (1 - low)));
      const panel = timeline.add({ name: atom, height: 40, range: real ? [-2, 2] : [0, 1], extra, edit: (values) => this.#draw(atom, values) });
      panel.series = [{ kind: "fill", values: this.signals.get(atom), color: "--strip" }];
      this.panels.atoms.push(panel);
    }
    this.monitors.forEach((run, k) => {
      if (!run) { this.panels.formulas.push(null); return; }
      const panel = timeline.add({ name: this.names[k], color: pairColor(k), height: 76, range: real ? [-2.2, 2.2] : [0, 1] });
      panel.series = [
        ...(run.lower ? [{ kind: "band", lower: run.lower, upper: run.upper, color: pairColor(k) }] : []),
        ...(run.progress ? [{ kind: "line", values: run.progress, color: pairColor(k), dash: true, width: 1 }] : []),
        { kind: "line", values: run.result, color: pairColor(k), width: 2 },
      ];
      this.panels.formulas.push(panel);
    });
    if (this.specs) {
      const panel = timeline.add({ name: "reward", height: 84, range: null });
      const ways = Object.keys(this.specs).sort((a, b) => (a === this.payment) - (b === this.payment));
      panel.series = ways.map((way) => ({ kind: "line", values: this.specs[way].result, color: WAYS[way], width: way === this.payment ? 2.4 : 1, dash: way !== this.payment }));
      this.panels.reward = panel;
    }
    timeline.redraw();
  }

  #draw(atom, values) {
    const column = this.signals.get(atom);
    let from = this.length;
    for (const [step, value] of values) {
      column[step] = this.clipped(value);
      if (step < from) from = step;
    }
    this.recompute(from);
    this.onChange();
  }

  #told(step) {
    if (!this.panels) return;
    this.panels.atoms.forEach((panel, k) => { panel.now.textContent = number(this.signals.get(this.atoms[k])[step], 3); });
    this.panels.formulas.forEach((panel, k) => {
      if (!panel) return;
      const run = this.monitors[k], { result, lower, progress } = run;
      const [low, high] = lower ? run.bounds(run.at(step, this.signals)) : [0, 1];
      const possible = lower ? `, ${number(low, 3)} to ${number(high, 3)} possible` : "";
      const done = progress ? `, progress ${number(progress[step], 3)}` : "";
      panel.now.textContent = `${number(result[step], 3)}${possible}${done}`;
    });
    if (this.panels.reward) {
      this.panels.reward.now.replaceChildren(...Object.entries(this.specs).flatMap(([way, run]) => [
        element("span", { class: "swatch", style: `background: var(${WAYS[way]}); margin-left: 10px` }), `${way} ${paid(run, step)}`]));
    }
    this.onCursor(step);
  }

  #describe(panel, step) {
    const a = this.panels.atoms.indexOf(panel);
    if (a >= 0) return null;
    return [element("b", { class: "number" }, `step ${step}`), element("div", {}, panel.now.textContent && panel === this.panels.reward
      ? Object.entries(this.specs).map(([way, run]) => `${way} ${paid(run, step)}`).join(", ")
      : `value ${number(this.monitors[this.panels.formulas.indexOf(panel)].result[step], 3)}`)];
  }
}

// The reward of a step; the state after reset pays nothing.
const paid = (run, step) => (step === 0 ? "–" : number(run.result[step], 3));

// What a signal is before anybody draws it: some pulses, each atom's at other steps.
function first(length, real, number) {
  const low = real ? -1 : 0, every = Math.max(8, Math.round(length / (3 + (number % 3)))), shift = (number * 7) % every;
  return Float64Array.from({ length }, (_, k) => ((k + shift) % every < Math.max(2, every / 8) ? 1 : low));
}
