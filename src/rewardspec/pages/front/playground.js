import { element, gauges, pairColor, showEquations } from "./timeline.js";
import { Board } from "./board.js";

const by = (id) => document.getElementById(id);
const board = new Board(by("timeline"), { onCursor: showMachines });
const editors = [];
let content = null, told = null, compiled = 0, timer = null, completions = [];

async function ask(path, question) {
  const response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

// The editor of one formula.
function editor(pair) {
  const k = editors.length;
  const input = element("textarea", { class: "mono formula", rows: 1, spellcheck: "false", autocomplete: "off", "aria-label": "Formula" });
  input.value = pair.formula;
  const weight = element("input", { type: "number", step: "any", value: pair.weight, "aria-label": "Weight", class: "weight" });
  const error = element("pre", { class: "error", role: "alert", hidden: true });
  const words = element("p", { class: "soft words" });
  const chips = element("div", { class: "chips" });
  const menu = element("ul", { class: "menu", hidden: true });
  const cells = element("div", { class: "cells" }), equations = element("div", { class: "equations mono" });
  const picture = element("div", { class: "picture" }), automaton = element("div", { class: "picture" });
  const automatonDetails = element("details", {}, element("summary", {}, "Automaton, for labels 0 and 1"), automaton);
  const details = element("details", {}, element("summary", {}, "Machine and automaton"), equations, cells,
    element("details", {}, element("summary", {}, "Machine, as a picture"), picture), automatonDetails);
  const swatch = element("span", { class: "swatch" });
  const root = element("div", { class: "card" },
    element("div", { class: "bar tight" }, swatch, element("span", { class: "soft grow" }, "weight "), weight,
      element("button", { class: "plain", title: "Remove this formula", "aria-label": "Remove this formula", onclick: () => remove(one) }, "×")),
    chips, element("div", { class: "input" }, input, menu), error, words, details);
  const one = { pair, input, weight, error, words, chips, cells, equations, picture, automaton, automatonDetails, details, swatch, root, menu, chosen: 0 };
  input.addEventListener("input", () => { fit(input); complete(one); changed(); });
  input.addEventListener("keydown", (event) => keys(one, event));
  input.addEventListener("blur", () => setTimeout(() => { menu.hidden = true; }, 150));
  weight.addEventListener("input", changed);
  automatonDetails.addEventListener("toggle", () => drawAutomaton(one));
  editors.push(one);
  by("formulas").append(root);
  swatch.style.background = `var(${pairColor(k)})`;
  fit(input);
  return one;
}

function fit(input) {
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight + 2}px`;
}

function remove(one) {
  editors.splice(editors.indexOf(one), 1);
  one.root.remove();
  editors.forEach((other, k) => { other.swatch.style.background = `var(${pairColor(k)})`; });
  changed();
}

async function drawAutomaton(one) {
  if (!one.automatonDetails.open || one.drawn === one.input.value) return;
  one.drawn = one.input.value;
  const found = await ask("automaton", one.input.value).catch((problem) => ({ error: problem.message }));
  if (found.svg) one.automaton.innerHTML = found.svg;  // made by rewardspec, which escapes every text in it
  else one.automaton.replaceChildren(element("p", { class: "soft" }, found.error));
}

// Completion of the word before the caret.
function word(input) {
  const before = input.value.slice(0, input.selectionStart);
  return /[A-Za-z_]\w*$/.exec(before)?.[0] ?? "";
}

function complete(one) {
  const typed = word(one.input);
  const atoms = [...new Set(editors.flatMap((other) => other.atoms ?? []))].map((text) => ({ text, words: "atom" }));
  const found = typed.length < 2 ? [] : [...atoms, ...completions].filter(({ text }) => text.startsWith(typed) && text !== typed).slice(0, 7);
  one.chosen = 0;
  one.menu.hidden = found.length === 0;
  one.menu.replaceChildren(...found.map(({ text, words }, k) =>
    element("li", { class: k === 0 ? "on" : "", onpointerdown: (event) => { event.preventDefault(); insert(one, text); } }, element("b", { class: "mono" }, text), " ", element("span", { class: "soft" }, words))));
  one.found = found;
}

function insert(one, text) {
  const { input } = one, end = input.selectionStart, start = end - word(input).length;
  input.setRangeText(text, start, end, "end");
  one.menu.hidden = true;
  input.focus();
  fit(input);
  changed();
}

function keys(one, event) {
  if (event.key === "Enter" && one.menu.hidden) { event.preventDefault(); return; }
  if (one.menu.hidden) return;
  if (["ArrowDown", "ArrowUp"].includes(event.key)) {
    one.chosen = (one.chosen + (event.key === "ArrowDown" ? 1 : one.found.length - 1)) % one.found.length;
    [...one.menu.children].forEach((item, k) => item.classList.toggle("on", k === one.chosen));
  } else if (event.key === "Enter" || event.key === "Tab") insert(one, one.found[one.chosen].text);
  else if (event.key === "Escape") one.menu.hidden = true;
  else return;
  event.preventDefault();
}

function question() {
  const numeric = (text, otherwise) => (text === "" || !Number.isFinite(Number(text)) ? otherwise : Number(text));
  return {
    pairs: editors.map(({ pair, input, weight }) => ({ ...pair, formula: input.value, weight: numeric(weight.value, 0) })),
    payment: by("payment").value, semantics: by("semantics").value,
    penalty: numeric(by("penalty").value, 0), discount: numeric(by("discount").value, 0.99),
    bound: by("semantics").value === "robustness" ? numeric(by("bound").value, null) : null,  // degrees have none
    further: content.further ?? {},  // atoms of a file, which are copied as they are
  };
}

function changed() {
  clearTimeout(timer);
  timer = setTimeout(compile, 120);
}

async function compile() {
  by("bound").disabled = by("semantics").value !== "robustness";
  const number = ++compiled, asked = question();
  let found;
  try { found = await ask("compile", asked); } catch (problem) { found = { error: problem.message, failed: true }; }
  found = { pairs: [], lint: [], ...found };
  if (number !== compiled) return;  // something newer has been asked
  told = found;
  found.pairs.forEach((answer, k) => {
    const one = editors[k];
    one.error.hidden = answer.error === null;
    one.error.textContent = answer.error?.message ?? "";
    one.words.textContent = answer.words ?? "";
    one.chips.replaceChildren(...pills(asked.pairs[k], answer).map((text) => element("span", { class: "chip" }, text)));
    one.details.hidden = answer.machine === null;
    one.atoms = answer.atoms;
    one.machine = answer.machine;
    if (answer.machine) one.picture.innerHTML = answer.machine.svg;  // made by rewardspec, too
    drawAutomaton(one);
  });
  showLint(found);
  // While somebody types, the panels stay as they are until all formulas can be read again.
  const wrong = found.pairs.some((answer) => answer.error !== null);
  if (!found.module || (wrong && board.monitors.length === found.pairs.length)) return;
  const url = URL.createObjectURL(new Blob([found.module], { type: "text/javascript" }));
  const { monitors, specs } = await import(url);
  URL.revokeObjectURL(url);
  if (number !== compiled) return;
  const names = found.pairs.map((answer, k) => asked.pairs[k].name ?? answer.formula ?? asked.pairs[k].formula);
  board.load({
    names, monitors, specs, payment: asked.payment, real: asked.semantics === "robustness",
    threshold: asked.further.threshold ?? null, bound: asked.bound,
  });
  document.body.dataset.ready = number;
}

// What decides a pair's reward beside formula and weight.
function pills({ name, penalty, payment, progress }, { vetoes, thing }) {
  return [
    name, thing && `shown for one ${thing}`, progress && "paid by progress", payment && `paid by ${payment}`, vetoes && "veto",
    typeof penalty === "number" && `penalty ${penalty}`,
  ].filter(Boolean);
}

function showLint(found) {
  const list = found.lint.map(({ severity, rule, message, remedy }) =>
    element("p", {}, element("span", { class: severity === "error" ? "chip bad" : "chip" }, rule), ` ${message} `, element("span", { class: "soft" }, remedy)));
  if (found.error) list.unshift(element("p", {}, found.error));
  if (found.failed) list.splice(1, 0, element("button", { id: "again", onclick: compile }, "Try again"));
  if (!list.length) list.push(element("p", { class: "soft" }, found.unlinted ?? "nothing that looks wrong"));
  by("lint").replaceChildren(element("h2", {}, "Lint"), ...list);
}

function showMachines(step) {
  editors.forEach((one, k) => {
    const run = board.monitors[k];
    if (!one.details.open || !one.machine || !run) return;
    const { control, registers, windows } = run.machine.describe(run.at(step, board.signals));
    const limits = board.real ? [-2, 2] : [0, 1];
    gauges(one.cells, [...one.machine.registers, ...one.machine.windows].map((name, i) => [name, [...registers, ...windows][i], ...limits]), pairColor(k));
    showEquations(one.equations, one.machine.equations, control);
  });
}
by("formulas").addEventListener("toggle", () => showMachines(board.timeline.cursor), true);

// Files, links and copies.
function show(next) {
  content = next;
  editors.splice(0).forEach(({ root }) => root.remove());
  next.pairs.forEach(editor);
  by("payment").value = next.payment;
  by("semantics").value = next.semantics;
  by("penalty").value = next.penalty;
  by("discount").value = next.discount;
  by("bound").value = next.bound ?? "";
  compile();
}

function say(text) {
  by("told").textContent = text;
  setTimeout(() => { if (by("told").textContent === text) by("told").textContent = ""; }, 4000);
}

async function open(file) {
  const text = await file.text();
  if (file.name.endsWith(".toml")) {
    const found = await ask("toml", text).catch((problem) => ({ error: problem.message }));
    if (found.error) say(found.error); else show(found);
    return;
  }
  const [head, ...rows] = text.replace(/^\ufeff/, "").split(/\r?\n/).filter((line) => line.trim());
  const between = [",", ";", "\t"].find((mark) => head.includes(mark)) ?? ",";
  const names = head.split(between).map((name) => name.trim().replace(/^"(.*)"$/, "$1"));
  const cell = (row) => row.split(between).map((x) => ({ true: 1, false: 0 })[x.trim().toLowerCase()] ?? Number(x));
  const numbers = rows.slice(0, 20000).map(cell);
  const bad = numbers.findIndex((row) => row.length !== names.length || row.some((x) => !Number.isFinite(x)));
  if (bad >= 0 || numbers.length < 2) return say(bad >= 0 ? `Line ${bad + 2} of ${file.name} is not ${names.length} numbers.` : `${file.name} has no rows.`);
  board.resize(numbers.length);
  by("length").value = numbers.length;
  names.forEach((name, k) => board.signals.set(name, Float64Array.from(numbers, (row) => board.clipped(row[k]))));
  say(`${numbers.length} steps of ${names.join(", ")}`);
  return compile();
}

function link() {
  const signals = board.length > 400 ? null : Object.fromEntries([...board.signals].filter(([atom]) => board.atoms.includes(atom)).map(([atom, column]) => [atom, Array.from(column, (x) => Number(x.toFixed(3)))]));
  const bytes = new TextEncoder().encode(JSON.stringify({ ...question(), length: board.length, signals }));
  return `${location.origin}/#${btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")}`;
}

// Take over the labels of a link or an example; returns it.
function drawn(found) {
  board.length = Math.min(20000, Math.max(2, Math.round(Number(found.length)) || 100));
  board.signals.clear();
  for (const [atom, values] of Object.entries(found.signals ?? {})) {
    if (Array.isArray(values)) board.signals.set(atom, Float64Array.from({ length: board.length }, (_, k) => Number(values[k]) || 0));
  }
  by("length").value = board.length;
  return found;
}

function linked() {
  if (location.hash.length < 2) return null;
  try {
    const bytes = Uint8Array.from(atob(location.hash.slice(1).replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const found = JSON.parse(new TextDecoder().decode(bytes));
    return Array.isArray(found.pairs) ? drawn(found) : null;
  } catch {
    say("The link is damaged; this is an example.");
    return null;
  }
}

by("add").addEventListener("click", () => { editor({ formula: "F goal", weight: 1 }).input.focus(); changed(); });
by("file").addEventListener("change", (event) => { if (event.target.files[0]) open(event.target.files[0]); event.target.value = ""; });
document.querySelectorAll("[data-copy]").forEach((button) => button.addEventListener("click", async () => {
  const text = button.dataset.copy === "link" ? link() : told?.[button.dataset.copy];
  if (!text) return say("There is nothing to copy while a formula is wrong.");
  if (button.dataset.copy === "link") history.replaceState(null, "", text);
  try { await navigator.clipboard.writeText(text); say(`Copied ${button.dataset.copy}.`); } catch { window.prompt("Copy this:", text); }
}));
["payment", "semantics", "penalty", "discount", "bound"].forEach((id) => by(id).addEventListener("input", () => {
  if (id === "semantics") board.signals.clear();
  changed();
}));
by("length").addEventListener("change", (event) => {
  const length = Math.min(20000, Math.max(2, Math.round(Number(event.target.value)) || 100));
  event.target.value = length;
  board.resize(length);
  compile();
});
document.addEventListener("keydown", (event) => {
  if (/INPUT|TEXTAREA|SELECT/.test(event.target.tagName) || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
  board.timeline.setCursor(board.timeline.cursor + (event.key === "ArrowLeft" ? -1 : 1) * (event.shiftKey ? 10 : 1));
});

const start = await (await fetch("first")).json();
completions = start.completions;
start.payments.forEach((way) => by("payment").append(element("option", { value: way }, way)));
start.examples.forEach(({ title }, k) => by("examples").append(element("option", { value: k }, title)));
by("examples").addEventListener("change", (event) => {
  if (event.target.value !== "") show(drawn(start.examples[event.target.value]));
  event.target.value = "";
});
show(linked() ?? drawn(start));
globalThis.playground = { board };
