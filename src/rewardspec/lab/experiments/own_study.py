"""A study of one's own: any environment, learned from one's own specs and, beside them, from its own reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewardspec.errors import Error
from rewardspec.lab.experiments.study import BASE, Budget, Contrast, Reward, Study, own_reward
from rewardspec.lab.learning.settings import SB3
from rewardspec.lab.learning.training import default_config, with_learner
from rewardspec.lab.tasks import registry
from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task
from rewardspec.logic import patterns
from rewardspec.logic.formulas import Atom, as_formula
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import loads_spec, spec_to_show


def own_study(
    env: str,
    specs: Mapping[str, str],
    *,
    base: bool = True,
    observe: str | None = "registers",
    measure: str | None = None,
    seeds: int = 10,
    config: Mapping[str, Any] | None = None,
    learner: str | None = None,
    show: bool = False,
    references: bool = True,
) -> Study:
    """A study of one environment.

    All arguments but the last two are plain values, its description, so that a directory of results can keep them and a
    worker be sent them.

    Args:
        env: What `rewardspec.lab.tasks.get` takes: a task's name, a Gymnasium id, `module:id` or `module:Class`.
        specs: The texts of spec files by name. One without atoms has those of the task. Without any, the task's own
            specs are compared.
        base: Whether to learn from the environment's own reward as well.
        observe: What of the monitors the learner sees.
        measure: A formula over the atoms, whose value at the end of an episode counts as success, or an atom, whose
            last label does; by default the task's own measure, which is the environment's return where it brings none.
        seeds: How many runs each reward gets.
        config: Settings of the learner that differ from its default ones.
        learner: `"ppo"`, `"q-learning"` or `"sb3:NAME"`, where it is not to be the task's own.
        show: Whether its results are only to be shown: functions that the specs name are not imported then.
        references: Whether the module of an environment `module:…` may be imported.

    Raises:
        Error: There is no such environment, no reward, or a spec or setting that cannot be used.
    """
    task = task_with(env, specs, measure, learner, show=show, references=references)
    rewards = {**({BASE: "Base"} if base else {}), **{name: name for name in task.specs}}
    if not rewards:
        raise Error("There is nothing to compare. Give a spec, or the environment's own reward.")
    first, *others = rewards
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
        contrasts=tuple(Contrast(f"{name}_and_{first}", f"{name} − {first}", name, (first,)) for name in others),
        rivals=tuple(rewards),
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
    """A task, with specs of one's own, if there are some, in place of its own ones.

    Args:
        env: What `rewardspec.lab.tasks.get` takes.
        specs: The texts of spec files by name.
        measure: A formula or an atom that measures success, in place of the task's own measure.
        learner: The learner, in place of the task's own.
        show: As for `own_study`.
        references: As for `own_study`.
    """
    if ":" in env and not references:
        raise Error(
            f"The results are of the environment {env!r}, whose module would be imported, which runs its code. If you "
            "trust the directory and the module, allow it: rewardspec report DIR --references"
        )
    task = with_learner(registry.get(env, specs={}), learner)
    read = spec_to_show if show else loads_spec
    loaded = {name: _with_atoms(read(text), task) for name, text in specs.items()}
    return measured_by(task.replace(specs=loaded) if loaded else task, measure)


def measured_by(task: Task, measure: str | None) -> Task:
    """The task with another measure of success.

    Args:
        task: The task, whose specs have the atoms.
        measure: A formula, whose value at the end of an episode counts, or an atom, whose last label does.
    """
    if measure is None:
        return task
    formula = as_formula(measure)
    last = isinstance(formula, Atom)
    words = f"The last label of `{measure}`." if last else ""
    return task.replace(measures={"success": Measure.of_formula(patterns.stay(formula) if last else formula, words)})


def _with_atoms(spec: Spec, task: Task) -> Spec:
    return spec if spec.atom_functions or not task.atoms else spec.replace(atoms=task.atoms)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
