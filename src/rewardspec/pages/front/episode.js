import { Timeline, element, gauges, number, pairColor, showEquations } from "./timeline.js";

const data = globalThis.DATA;
const by = (id) => document.getElementById(id);
const { spec, episodes } = data;
let episode = episodes[0];
let playing = null;

by("title").textContent = data.title;
by("lead").textContent = data.lead;
document.title = data.title;
episodes.forEach(({ title }, k) => by("episodes").append(element("option", { value: k }, title)));
by("episodes").hidden = episodes.length === 1;

const timeline = new Timeline(by("timeline"), { onCursor: show, describe });
const panels = { atoms: [], formulas: [], reward: null };

// What stands beside the panels.
const frame = element("img", { class: "frame", alt: "The environment at this step" });
const reward = element("div", { class: "big number" });
const cause = element("p", { class: "soft" });
const veto = element("span", { class: "chip bad" });
const atoms = element("div", { class: "cells" });
const pairs = spec.pairs.map((pair, k) => {
  const cells = element("div", { class: "cells" });
  const waits = element("p", { class: "soft" });
  const card = element("div", { class: "card" },
    element("h2", { class: "formula" }, element("span", { class: "swatch", style: `background: var(${pairColor(k)})` }), pair.name), cells, waits);
  return { cells, waits, card };
});
const picture = element("div", { class: "card first" }, frame);
by("beside").append(picture,
  element("div", { class: "card first" }, element("h2", {}, "Reward"), element("div", { class: "bar" }, reward, veto), cause),
  ...(spec.atoms.length ? [element("div", { class: "card" }, element("h2", {}, "Atoms"), atoms)] : []),
  ...pairs.map(({ card }) => card));

// The machines, with their live state.
const machines = spec.pairs.map((pair, k) => {
  if (!pair.machine) return null;
  const cells = element("div", { class: "cells" }), equations = element("div", { class: "equations mono" });
  const state = element("span", { class: "soft" });
  const drawing = element("div", { class: "picture" });
  drawing.innerHTML = pair.machine.svg;  // made by rewardspec, which escapes every text in it
  const root = element("details", { class: "card" },
    element("summary", {}, element("span", { class: "swatch", style: `background: var(${pairColor(k)})` }), "The machine of ", element("code", {}, pair.formula), " ", state),
    element("p", {}, pair.words || ""), equations, cells, element("details", {}, element("summary", {}, "As a picture"), drawing));
  by("machines").append(root);
  return { cells, equations, state };
});

function choose(k) {
  episode = episodes[k];
  by("episodes").value = k;
  timeline.clear(episode.length);
  by("slider").max = episode.length - 1;
  picture.hidden = !episode.frames;
  const real = spec.semantics === "robustness";
  panels.atoms = spec.atoms.map((atom) => {
    const panel = timeline.add({ name: atom, height: 30, range: real ? null : [0, 1] });
    panel.series = [{ kind: "fill", values: episode.labels[atom], color: "--strip" }];
    return panel;
  });
  panels.formulas = spec.pairs.map((pair, k) => {
    const panel = timeline.add({ name: pair.name, color: pairColor(k), height: 72, range: real ? null : [0, 1] });
    const of = episode.pairs[k];
    panel.series = [
      ...(of.lower ? [{ kind: "band", lower: of.lower, upper: of.upper, color: pairColor(k) }] : []),
      ...(of.progress ? [{ kind: "line", values: of.progress, color: pairColor(k), dash: true, width: 1 }] : []),
      { kind: "line", values: of.values, color: pairColor(k), width: 2 },
    ];
    return panel;
  });
  panels.reward = timeline.add({ name: `reward, paid by ${spec.payment}`, color: "--reward", height: 72, range: null });
  panels.reward.series = [{ kind: "line", values: episode.rewards, color: "--reward", width: 2 }];
  const fell = episode.vetoed.findIndex((by) => by !== null);
  if (fell >= 0) [...panels.formulas, panels.reward].forEach((panel) => panel.marks.push({ step: fell, color: "--veto" }));
  timeline.redraw();
  timeline.setCursor(Math.min(timeline.cursor, episode.length - 1));
}

function because(step) {
  const decided = episode.decided[step];
  if (decided === null) return "Nothing is paid for.";
  const { name, progress } = spec.pairs[decided], of = episode.pairs[decided];
  const label = of.causes[step], waits = of.waiting[step];
  const paid = number((progress && of.progress ? of.progress : of.values)[step]);
  const text = episode.vetoed[step] !== null ? `${name} is violated` : `${name} counted most`;
  if (label) return `${text}: ${label[0]} at step ${label[1]} made ${progress ? "its progress" : "it"} ${paid}.`;
  return waits.length ? `${text}; it waits for ${waits.join(" and ")}.` : `${text}.`;
}

function show(step) {
  by("slider").value = step;
  by("step").textContent = `step ${step} of ${episode.length - 1}`;
  if (episode.frames) frame.src = episode.frames[step];
  reward.textContent = step === 0 ? "– after reset" : number(episode.rewards[step]);
  cause.textContent = because(step);
  const vetoed = episode.vetoed[step];
  veto.hidden = vetoed === null;
  veto.textContent = vetoed === null ? "" : `vetoed by ${spec.pairs[vetoed].name}`;
  const range = (values) => (spec.semantics === "robustness" ? span(values) : [0, 1]);
  gauges(atoms, spec.atoms.map((atom) => [atom, episode.labels[atom][step], ...range(episode.labels[atom])]));
  panels.atoms.forEach((panel, k) => { panel.now.textContent = number(episode.labels[spec.atoms[k]][step]); });
  spec.pairs.forEach((pair, k) => {
    const of = episode.pairs[k], limits = range(of.values);
    const rows = [["value", of.values[step], ...limits]];
    if (of.lower) rows.push(["at worst", of.lower[step], ...limits], ["at best", of.upper[step], ...limits]);
    if (of.progress) rows.push(["progress", of.progress[step], 0, 1]);
    gauges(pairs[k].cells, rows, pairColor(k));
    const waits = of.waiting[step];
    pairs[k].waits.textContent = waits.length ? `waits for ${waits.join(" and ")}` : "";
    const possible = of.lower ? `, ${number(of.lower[step], 3)} to ${number(of.upper[step], 3)} possible` : "";
    panels.formulas[k].now.textContent = `${number(of.values[step], 3)}${possible}`;
    if (machines[k]) {
      const { machine } = pair, control = of.control[step];
      const names = [...machine.registers, ...machine.windows];
      gauges(machines[k].cells, names.map((name, i) => [name, of.cells[i][step], ...limits]), pairColor(k));
      showEquations(machines[k].equations, machine.equations, control);
      machines[k].state.textContent = machine.equations.length > 1 ? `— next: control state ${control} of ${machine.equations.length}` : "";
    }
  });
  panels.reward.now.textContent = step === 0 ? "" : number(episode.rewards[step]);
}

function span(values) {
  let low = 0, high = 0;
  for (const v of values) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
  return [low, high];
}

function describe(panel, step) {
  const k = panels.formulas.indexOf(panel), a = panels.atoms.indexOf(panel);
  const lines = [element("b", { class: "number" }, `step ${step}`)];
  if (a >= 0) lines.push(element("div", {}, `${spec.atoms[a]}: ${number(episode.labels[spec.atoms[a]][step])}`));
  if (k >= 0) {
    const of = episode.pairs[k];
    lines.push(element("div", {}, `value ${number(of.values[step])}`));
    const label = of.causes[step];
    if (label) lines.push(element("div", { class: "soft" }, `made so by ${label[0]} at step ${label[1]}`));
    if (of.waiting[step].length) lines.push(element("div", { class: "soft" }, `waits for ${of.waiting[step].join(" and ")}`));
  }
  if (panel === panels.reward) {
    lines.push(element("div", {}, step === 0 ? "the state after reset pays nothing" : `reward ${number(episode.rewards[step])}`));
    lines.push(element("div", { class: "soft" }, because(step)));
  }
  return lines;
}

function play() {
  if (playing !== null) { clearInterval(playing); playing = null; by("play").textContent = "▶"; return; }
  if (timeline.cursor === episode.length - 1) timeline.setCursor(0);
  by("play").textContent = "❚❚";
  const stride = Math.max(1, Math.round(episode.length / 600));
  playing = setInterval(() => {
    timeline.setCursor(timeline.cursor + stride);
    if (timeline.cursor === episode.length - 1) play();
  }, 60);
}

by("slider").addEventListener("input", (event) => timeline.setCursor(Number(event.target.value)));
by("episodes").addEventListener("change", (event) => choose(Number(event.target.value)));
by("play").addEventListener("click", play);
document.addEventListener("keydown", (event) => {
  if (["SELECT", "TEXTAREA"].includes(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  const far = event.shiftKey ? 10 : 1, which = episodes.indexOf(episode);
  const moves = {
    ArrowLeft: () => timeline.setCursor(timeline.cursor - far), ArrowRight: () => timeline.setCursor(timeline.cursor + far),
    Home: () => timeline.setCursor(0), End: () => timeline.setCursor(episode.length - 1),
    " ": () => play(), "[": () => choose(Math.max(0, which - 1)), "]": () => choose(Math.min(episodes.length - 1, which + 1)),
  };
  if (!(event.key in moves) || (event.key === " " && event.target.tagName === "BUTTON")) return;
  event.preventDefault();
  moves[event.key]();
});
choose(0);
