import { Board } from "./board.js";

// A board of machines that were made beforehand, with signals to start from.
const { signals, names, payment, real, bound } = globalThis.DATA;
const length = Object.values(signals)[0].length;
const board = new Board(document.getElementById("timeline"), { length });

function begin() {
  board.signals = new Map(Object.entries(signals).map(([atom, values]) => [atom, Float64Array.from(values)]));
  board.load({ names, payment, real, bound, ...globalThis.MACHINES });
}

document.getElementById("again").addEventListener("click", begin);
begin();
board.timeline.setCursor(Math.round(length * 0.6));
globalThis.playground = { board };
