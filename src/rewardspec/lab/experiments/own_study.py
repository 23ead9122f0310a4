"""Studies of a single environment, trained with your own specs and with its own reward."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import tomllib
import zlib
from collections.abc import Mapping

from rewardspec.environments import imports_module
from rewardspec.errors import Error
from rewardspec.lab.experiments.study import BASE, Budget, Contrast, Reward, Study, own_reward
from rewardspec.lab.learning.settings import SB3
from rewardspec.lab.learning.training import default_config, with_learner
from rewardspec.lab.tasks import task_lookup
from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task
from rewardspec.logic import patterns
from rewardspec.logic.formulas import Atom, Formula, as_formula
from rewardspec.logic.quantifiers import Quantified
from rewardspec.spec.atoms.expression_atoms import ExpressionAtom
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.toml_reading import loads_spec, spec_to_show
from rewardspec.types import JsonObject

MOST_IN_PAIRS = 4
"""The most rewards of which all pairs are compared. Of more, each is compared with the first alone."""


def own_study(
    env: str,
    specs: Mapping[str, str],
    *,
    base: bool = True,
    observe: str | None = "registers",
    measure: str | None = None,
    seeds: int = 10,
    config: JsonObject | None = None,
    learner: str | None = None,
    show: bool = False,
    references: bool = True,
) -> Study:
    """Make a study of one environment.

    All arguments but the last two are JSON data and form the description of the study, which is stored with the results
    and sent to workers.

    Args:
        env: Argument of `rewardspec.lab.tasks.get`: a task's name, a Gymnasium id, `module:id` or `module:Class`.
        specs: Texts of spec files by name. A spec without atoms takes those of the task. If empty, the task's own specs
            are compared.
        base: Whether to train with the environment's own reward as well.
        observe: Part of the monitors' state that the learner observes.
        measure: Measure of success: a formula over the atoms, by its value at the end of an episode, or an atom, by its
            last label; by default the task's own measure, or the environment's return.
        seeds: Number of runs of each reward.
        config: Settings of the learner that differ from the defaults.
        learner: `"ppo"`, `"q-learning"` or `"sb3:NAME"`; by default the task's own.
        show: Whether results are only shown; then functions that specs refer to are not imported.
        references: Whether the module of an environment `module:…` may be imported.
    """
    task = task_with(env, specs, measure, learner, show=show, references=references)
    rules = _rules(task, specs)
    task = task.replace(measures={**task.measures, **{name: measure for name, (_, measure) in rules.items()}})
    rewards = {**({BASE: "Base"} if base else {}), **{name: name for name in task.specs}}
    if not rewards:
        raise Error("There is nothing to compare. Give a spec, or the environment's own reward.")
    pairs = list(itertools.combinations(rewards, 2))  # those with the first reward come first
    if len(rewards) > MOST_IN_PAIRS:
        pairs = pairs[: len(rewards) - 1]
    description = {"base": base, "observe": observe, "measure": measure, "seeds": seeds, "config": dict(config or {})}
    description |= {} if learner is None else {"learner": learner}

    def reward_of(task: Task, name: str) -> Reward:
        return own_reward(task, name) if name == BASE else Reward(task.spec(name), observe, text=specs.get(name))

    def budget(task: Task, quick: bool) -> Budget:
        settings = default_config(task, config, quick=quick)
        # Stable-Baselines3 trains one run at a time, so that nothing is gained by jobs of several.
        return Budget(seeds, 1 if isinstance(settings, SB3) else seeds, settings)

    return Study(
        title=f"{task.title}: rewards compared",
        lead=f"{task.title}, learned from {_listed(list(rewards.values()))}.",
        tasks={task.name: task},
        rewards=rewards,
        budget=budget,
        reward=reward_of,
        contrasts=tuple(
            Contrast(f"{name}_and_{other}", f"{name} − {rewards[other]}", name, (other,)) for other, name in pairs
        ),
        rivals=tuple(rewards),
        success=measure or "",
        rules={name: title for name, (title, _) in rules.items()},
        description={"study": "own", "env": env, "specs": dict(specs), **description},
    )


def task_with(
    env: str,
    specs: Mapping[str, str],
    measure: str | None = None,
    learner: str | None = None,
    *,
    show: bool = False,
    references: bool = True,
) -> Task:
    """Find a task and replace its specs, measure and learner by those given; see `own_study`."""
    if imports_module(env) and not references:
        raise Error(
            f"The results are of the environment {env!r}, whose module would be imported, which runs its code. If you "
            "trust the directory and the module, allow it: rewardspec report DIR --references"
        )
    task = with_learner(task_lookup.get(env, specs={}), learner)
    read = spec_to_show if show else loads_spec
    loaded = {name: task.with_atoms(read(text)) for name, text in specs.items()}
    return measured_by(task.replace(specs=loaded) if loaded else task, measure)


def measured_by(task: Task, measure: str | None) -> Task:
    """Replace the measure of success of a task by a formula's value at the end, or by an atom's last label."""
    if measure is None:
        return task
    formula = as_formula(measure)
    last = isinstance(formula, Atom)
    words = f"The last label of `{measure}` in an episode." if last else ""
    success = Measure.from_formula(patterns.reach_and_stay(formula), words) if last else Measure.from_rule(formula)
    read = [task.atoms.get(atom) for atom in formula.atoms]
    if not success.mean and any(isinstance(function, ExpressionAtom) and not function.is_boolean for function in read):
        words = (
            f"{success.words} Labels may lie between 0 and 1, so it is a degree, in percent; not a share of episodes."
        )
        success = dataclasses.replace(success, words=words)
    return task.replace(measures={"success": success})


def check_measure(old: JsonObject, new: JsonObject) -> None:
    """Raise an Error if the measure of a study that is resumed reads atoms that its specs now define differently."""
    if new["measure"] is None:
        return
    before, after = _measured_atoms(old), _measured_atoms(new)
    for atom in {**before, **after}:
        if before.get(atom) != after.get(atom):
            raise Error(
                f"The directory holds the results of another study: its `measure`, {new['measure']!r}, reads the atom "
                f"{atom!r}, which the specs now define differently. Repeat its definition, or give another directory "
                "with -o."
            )


def _measured_atoms(description: JsonObject) -> dict[str, AtomFunction]:
    """Return what the specs of a study define of the atoms that its measure reads; the later spec wins."""
    atoms = as_formula(description["measure"]).atoms
    functions = [spec_to_show(text).atom_functions or {} for text in description["specs"].values()]
    return {atom: own[atom] for own in functions for atom in atoms if atom in own}


def _rules(task: Task, texts: Mapping[str, str]) -> dict[str, tuple[str, Measure]]:
    """Return the formulas of the specs as measures, with their titles, so that each is known under every reward.

    A title is the formula, after its first name in the specs; a name of several formulas is followed by that of the
    spec. Left out are formulas without atoms, formulas about things, formulas under robustness, and formulas whose
    atoms two specs define differently. The name of a measure depends on the formula, on its atoms and on their
    threshold alone, as the first spec writes them, so that results that are there already are neither lost nor mistaken
    when specs are added.
    """
    functions: dict[str, list[AtomFunction]] = collections.defaultdict(list)
    for spec in task.specs.values():
        for atom, function in (spec.atom_functions or {}).items():
            functions[atom].append(function)
    contested = {atom for atom, (first, *others) in functions.items() if any(other != first for other in others)}
    found: dict[Formula, tuple[str, Measure]] = {}
    named: dict[Formula, tuple[str, str]] = {}  # the first name of each formula, and the spec that has it
    for key, spec in task.specs.items():
        written = tomllib.loads(texts.get(key, ""))
        for pair in spec.pairs:
            atoms = () if isinstance(pair.formula, Quantified) else pair.formula.atoms
            if atoms and contested.isdisjoint(atoms) and spec.semantics == "degree":
                definitions = {atom: written.get("atoms", {}).get(atom) for atom in atoms}
                identity = f"{pair.formula}{definitions}{written.get('observation')}"
                rule = Measure.from_rule(pair.formula)
                identity += " mean" * rule.mean
                identity += f" threshold {written['threshold']}" if "threshold" in written else ""
                name = f"rule_{zlib.crc32(identity.encode()):08x}"
                found.setdefault(pair.formula, (name, rule))  # the atoms mean the same, however they are written
                if pair.name is not None:
                    named.setdefault(pair.formula, (pair.name, key))
    used = collections.Counter(name for name, _ in named.values())

    def title_of(formula: Formula) -> str:
        if formula not in named:
            return str(formula)
        name, key = named[formula]
        return f"{name} ({key}): {formula}" if used[name] > 1 else f"{name}: {formula}"

    return {name: (title_of(formula), rule) for formula, (name, rule) in found.items()}


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
