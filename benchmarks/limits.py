"""Random formulas through the command line: each is answered, or refused by name, within 10 seconds and 1 GB.

    python benchmarks/limits.py                                        # 10,000 formulas through `rewardspec check`
    python benchmarks/limits.py --command export --formulas 1000       # or draw, monitor, explain, spec

`spec` is `check` of a spec file with one pair of the formula, which vetoes.

Formulas have at most 60 characters: random ones over the whole grammar with numbers from 0 to a billion, and templates
that are known to be hard. Each runs in a forked worker under limits of the operating system on processor time and on
the growth of its memory; a worker that passes one is killed, and the formula counted. The formulas depend on the seed
alone, the limits of the library count operations rather than seconds, so that answers are the same on every machine.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import platform
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from rewardspec.cli import check, draw, export, monitor
from rewardspec.errors import Error
from rewardspec.lab.cli import explain

SECONDS = 10
BYTES = 1 << 30
LONGEST = 60
BATCH = 100  # formulas that one worker is given

UNARY = ("!", "X", "WX", "F", "G", "Y", "WY", "O", "H", "now ")
TIMED = ("F", "G", "O", "H")
BINARY = ("&", "|", "->", "<->", "^", "U", "R", "W", "M", "S", "T")
TIMED_BINARY = ("U", "R", "S", "T")
ATOMS = "abcd"

# Known to be hard: N is a number, A an atom.
TEMPLATES = (
    "F{N} A",
    "G{N} A",
    "G F{N} A",
    "F{N}(A & X A)",
    "F{N}(A U A)",
    "F{N} A & G{N} A",
    "F{N} F{N} A",
    "G(A -> F{N} A)",
    "Y[N] A",
    "now H[0,N] A",
    "G(A -> O[N,N] A)",
    "now (A S[N,N] A)",
    "X[N] A",
    "G(A -> X[N] A)",
    "G(A -> F[0,N;0.9] A)",
    "G(A -> (A U[0,N;0.99] A))",
    "now O[0,N;0.9] A",
    "F[N,N;0.5] A",
    "F[N,;0.5] A",
    "G F[0,N] G[0,N] F[0,N] A",
    "G F[0,N](A & X A)",
    "G F[0,N](A & F[0,N](A & F[0,N] A))",
    "F[0,N] G[0,N] F[0,N] G[0,N] A",
    "(A U[0,N] A) U[0,N] (A U[0,N] A)",
    "F(A & X[N] A) & F(A & X[N] A)",
    "G(A <-> WX WX WX WX WX WX WX WX WX WX WX WX WX WX A)",
    "G(A <-> WX[N] A)",
    "G(A ^ X X X X X X X X X X X X X X X X A)",
    "G(A <-> Y[N] A)",
    "F(A & F(A & F(A & F(A & F(A & F(A & F(A & F A)))))))",
    "GF a & GF b & GF c & GF d & GF e & GF f & GF g & GF h & GF i",
    "G(F a | F b | F c | F d | F e | F f | F g | F h | F i | F j)",
    "F(G a & F b) | G(F c & G d) & F(G e | F f) U G(g | F h)",
    "a^b^c^d^e^f^g^h^i^j^k^l^m^n^o^p^q^r^s^t^u^v^w^x^y^z",
    "F(a^b^c^d^e^f^g^h^i^j^k^l^m^n^o^p^q^r^s^t^u^v^w^x^y^z)",
    "a<->b<->c<->d<->e<->f<->g<->h<->i<->j<->k<->l<->m<->n<->o",
    "a U b U c U d U e U f U g U h U i U j U k U l U m U n",
    "((((((a U b) U c) U d) U e) U f) U g) U h",
    "((((((a R b) U c) R d) U e) R f) U g) R h",
    "X(a ^ X(b ^ X(c ^ X(d ^ X(e ^ X(f ^ X(g ^ X h)))))))",
    "F(a ^ F(b ^ F(c ^ F(d ^ F(e ^ F(f ^ F(g ^ F h)))))))",
    "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!a",
    "((((((((((((((((((((((((((((a))))))))))))))))))))))))))))",
)


def different_formulas(rng: random.Random, count: int) -> list[str]:
    """So many texts, no two of them the same."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[random_formula(rng)] = None
    return list(found)


def random_formula(rng: random.Random) -> str:
    """A text of at most 60 characters; nearly always a formula."""
    while True:
        kind = rng.random()
        if kind < 0.25:
            text = from_template(rng, rng.choice(TEMPLATES))
        elif kind < 0.95:
            text = from_grammar(rng, rng.randint(2, 12))
        else:
            pieces = (*UNARY, *BINARY, "[0,5]", "{3}", "(", ")", "[", ";", "a", "b", "0.5", '"', "true", "last")
            text = " ".join(rng.choice(pieces) for _ in range(rng.randint(1, 16)))
        if len(text) <= LONGEST:
            return text


def from_template(rng: random.Random, template: str) -> str:
    """A template with its numbers and atoms filled in; the numbers ascend, so that they can be an interval."""
    numbers = iter(sorted(number(rng) for _ in range(template.count("N"))))
    filled = (str(next(numbers)) if c == "N" else rng.choice(ATOMS) if c == "A" else c for c in template)
    return "".join(filled)


def number(rng: random.Random) -> int:
    """A count or a bound: mostly small, at times beyond what is allowed."""
    largest = rng.choice((3, 12, 40, 300, 3_000, 30_000, 10**6, 10**9, 10**12))
    return rng.randint(1, largest) if rng.random() < 0.8 else largest


def from_grammar(rng: random.Random, size: int) -> str:
    """A formula with about as many operators."""
    if size <= 0:
        return rng.choice((*ATOMS, *ATOMS, *ATOMS, "true", "false", "last", "first", "0.5"))
    kind = rng.random()
    if kind < 0.25:
        return f"{rng.choice(UNARY)} {from_grammar(rng, size - 1)}"
    if kind < 0.4:
        return f"{rng.choice(TIMED)}{interval(rng)} {from_grammar(rng, size - 1)}"
    if kind < 0.47:
        return f"{rng.choice('FG')}{{{number(rng)}}} {from_grammar(rng, size - 1)}"
    if kind < 0.52:
        return f"{rng.choice(('X', 'WX', 'Y', 'WY'))}[{number(rng)}] {from_grammar(rng, size - 1)}"
    if kind < 0.55:
        return f"{rng.choice((0.5, 0.9, 0.001))} * {from_grammar(rng, size - 1)}"
    operator = rng.choice(BINARY) if kind < 0.9 else rng.choice(TIMED_BINARY) + interval(rng)
    left = rng.randint(0, size - 1)
    return f"({from_grammar(rng, left)} {operator} {from_grammar(rng, size - 1 - left)})"


def interval(rng: random.Random) -> str:
    """An interval, at times without an end or with a discount."""
    low, high = sorted((rng.choice((0, 0, number(rng))), number(rng)))
    bounds = rng.choice((f"{low},{high}", f"{low},{high}", f"{low},"))
    factor = rng.choice(("", "", "", ";0.9", ";0.5", ";0.999999"))
    return f"[{bounds}{factor}]"


@dataclass(frozen=True)
class Outcome:
    """What became of one formula."""

    formula: str
    kind: str
    seconds: float
    megabytes: float


def arguments_of(command: str, formula: str, folder: Path) -> list[list[str]]:
    """The command lines that try a command on a formula."""
    trace = folder / "trace.csv"
    match command:
        case "draw":
            return [[command, formula, "-o", str(folder / "machine.svg")]]
        case "export":
            return [[command, formula, "-o", str(folder / f"machine.{to}")] for to in ("c", "js")]
        case "spec":
            # A TOML string takes what a JSON string takes.
            (folder / "spec.toml").write_text(
                f"pairs = [{{formula = {json.dumps(formula)}, weight = 1, veto = true}}]\n"
            )
            return [["check", str(folder / "spec.toml")]]
        case "monitor":
            return [[command, formula, "--trace", str(trace)]]
        case "explain":
            return [[command, formula, "--trace", str(trace)]]
    return [[command, formula]]


def run_one(command: str, formula: str, folder: Path) -> str:
    """Run a command on a formula: "answered", or what it was refused by."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    for module in (check, draw, export, monitor, explain):
        module.add_parser(commands)
    if command in ("monitor", "explain"):
        atoms = sorted({*ATOMS, *"abcdefghijklmnopqrstuvwxyz"})
        rows = ("1" if (k + row) % 3 else "0" for row in range(12) for k in range(len(atoms)))
        lines = [",".join(next(rows) for _ in atoms) for _ in range(12)]
        (folder / "trace.csv").write_text("\n".join([",".join(atoms), *lines]) + "\n")
    shown = io.StringIO()
    try:
        for words in arguments_of(command, formula, folder):
            with contextlib.redirect_stdout(shown):
                arguments = parser.parse_args([words[0], *words[2:], "--", words[1]])
                arguments.run(arguments)
    except Error as error:
        return type(error).__name__
    text = shown.getvalue()
    refused = [
        name
        for name, mark in (
            ("monitor", "Monitor     refused"),
            ("bounds", "Range       not known"),
            ("automaton", "Automaton   refused"),
        )
        if mark in text
    ]
    return f"answered, without {' and '.join(refused)}" if refused else "answered"


def work(command: str, formulas: Sequence[str], results: Connection) -> None:
    """Run a batch, and send (formula's number, outcome) before each formula and after it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with tempfile.TemporaryDirectory() as folder:
        run_one(command, "F a", Path(folder))  # imports what the command needs
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + BYTES, size + BYTES))
        for k, formula in enumerate(formulas):
            results.send((k, None))
            before = forget_peak()
            start = time.process_time()
            resource.setrlimit(resource.RLIMIT_CPU, (int(start) + SECONDS + 1, resource.RLIM_INFINITY))
            try:
                kind = run_one(command, formula, Path(folder))
            except MemoryError:
                kind = "out of memory"
            except Exception as error:
                kind = f"an error without a name: {type(error).__name__}: {str(error)[:60]}"
            results.send((k, Outcome(formula, kind, time.process_time() - start, (peak() - before) / 1e6)))


def forget_peak() -> int:
    """Set the peak of memory to what is in use now, and return it in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """The most memory in use since the peak was forgotten, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def outcomes_of(command: str, formulas: Sequence[str]) -> Iterator[Outcome]:
    """Run a batch in workers, a new one after each that the operating system killed."""
    context = multiprocessing.get_context("fork")
    rest = list(formulas)
    while rest:
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(command, rest, theirs), daemon=True)
        worker.start()
        theirs.close()
        at, done = 0, 0
        with contextlib.suppress(EOFError):
            while done < len(rest):
                at, outcome = ours.recv()
                if outcome is not None:
                    done = at + 1
                    yield outcome
        worker.join()
        if done < len(rest):
            yield Outcome(rest[at], f"killed (exit status {worker.exitcode})", float("inf"), float("inf"))
            done = at + 1
        rest = rest[done:]


def main() -> int:
    """Print how many formulas were answered, refused, or passed a limit."""
    parser = argparse.ArgumentParser(description="Random formulas through the command line, under limits.")
    parser.add_argument("--command", choices=("check", "draw", "export", "monitor", "explain", "spec"), default="check")
    parser.add_argument("--formulas", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    formulas = different_formulas(rng, chosen.formulas)
    batches = [formulas[k : k + BATCH] for k in range(0, len(formulas), BATCH)]
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(chosen.workers) as pool:
        for found in pool.map(lambda batch: list(outcomes_of(chosen.command, batch)), batches):
            outcomes += found
            slowest = max(found, key=lambda outcome: outcome.seconds)
            print(f"{len(outcomes):,} of {len(formulas):,}, slowest: {slowest}", file=sys.stderr, flush=True)
    report(chosen.command, chosen.seed, outcomes)
    return int(any(passed(outcome) for outcome in outcomes))


def passed(outcome: Outcome) -> bool:
    """Whether a formula passed a limit, or failed without a name."""
    named = outcome.kind.startswith("answered") or outcome.kind.endswith("Error")
    return not named or outcome.seconds > SECONDS or outcome.megabytes * 1e6 > BYTES


def report(command: str, seed: int, outcomes: Sequence[Outcome]) -> None:
    """Print the outcomes as Markdown."""
    print(
        f"`rewardspec {command}` · {len(outcomes):,} random formulas of at most {LONGEST} characters, seed {seed}",
        end="",
    )
    print(f" · Python {platform.python_version()}\n\n| outcome | formulas |\n|---|---|")
    for kind, count in Counter(outcome.kind for outcome in outcomes).most_common():
        print(f"| {kind} | {count:,} |")
    over = [outcome for outcome in outcomes if passed(outcome)]
    print(f"\nbeyond {SECONDS} seconds or {BYTES >> 30} GB, or failed without a named error: {len(over)}")
    for outcome in over:
        print(f"- `{outcome.formula}`: {outcome.kind}, {outcome.seconds:.1f} s, {outcome.megabytes:,.0f} MB")
    for title, key in (("slowest", lambda each: each.seconds), ("most memory", lambda each: each.megabytes)):
        print(f"\n| {title} | seconds of processor time | MB more than before | outcome |\n|---|---|---|---|")
        for outcome in sorted(outcomes, key=key, reverse=True)[:10]:
            formula = outcome.formula.replace("|", "\\|")
            print(f"| `{formula}` | {outcome.seconds:.2f} | {outcome.megabytes:,.0f} | {outcome.kind} |")


if __name__ == "__main__":
    sys.exit(main())
