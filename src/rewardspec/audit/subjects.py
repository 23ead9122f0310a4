"""What can be audited by name: the six finite tasks, and any Gymnasium environment with a table `P`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym

from rewardspec.audit.audit import Finding, audit, rewards_of
from rewardspec.audit.intents import Intent, intent_from_atoms, intent_of
from rewardspec.audit.map_pictures import Panel, plot_paths
from rewardspec.audit.maps import Map, map_of
from rewardspec.audit.policy_playback import Episode, roll_out
from rewardspec.errors import Error, SpecError, UnknownEnvironmentError
from rewardspec.finite.models import FiniteModel, finite_model
from rewardspec.spec.payment import Payment
from rewardspec.spec.spec import Spec
from rewardspec.tasks import registry
from rewardspec.tasks.task import Task, base_spec


@dataclasses.dataclass(frozen=True)
class Subject:
    """An environment, its rewards, and what it is about.

    Attributes:
        title: Its name for people.
        make: Makes the environment.
        model: Its model.
        intent: What it is about.
        rewards: The rewards to audit, by name.
    """

    title: str
    make: Callable[[], gym.Env[Any, Any]]
    model: FiniteModel
    intent: Intent
    rewards: dict[str, Spec]

    def audit(self, reward: str, discounts: Sequence[float]) -> list[Finding]:
        """Audit one of the rewards."""
        return audit(self.model, self.rewards[reward], self.intent, discounts, reward=reward)

    def play(self, finding: Finding, seed: int | None = None) -> Episode:
        """Roll the finding's policy out in the environment, with the spec as its reward."""
        from rewardspec.wrappers import MonitorReward

        return roll_out(MonitorReward(self.make(), finding.product.spec), finding.product, finding.policy, seed)

    def map(self, start: int) -> Map | None:
        """The map of an episode that starts in a state, where there is one."""
        return map_of(self.make(), start)

    def picture(self, findings: Sequence[Finding], episodes: Sequence[Episode]) -> Any:
        """A matplotlib figure of what was played for each finding.

        Raises:
            Error: The environment has no map.
        """
        panels = []
        for finding, episode in zip(findings, episodes, strict=True):
            board = self.map(episode.states[0])
            if board is None:
                raise Error(f"There is no map of {self.title} to draw a path on.")
            caption = f"{finding.verdict}; {len(episode.actions)} steps, return {episode.total:,.1f}"
            panels.append(Panel(finding.reward, caption, board, episode.states))
        return plot_paths(f"{self.title}: optimal paths, discount {findings[0].discount:g}", panels)


def subject_of(
    name: str | Task,
    spec_file: str | None = None,
    payment: Payment | None = None,
    goal: str | None = None,
    hazard: str | None = None,
) -> Subject:
    """The subject of a name.

    Args:
        name: The name of one of the twelve environments, or the id of a Gymnasium environment.
        spec_file: A spec to audit in place of the environment's own; where it brings no atoms, it reads the task's.
        payment: How specs pay; None keeps what they say.
        goal: For an environment that is none of the twelve, the spec's atom that holds at the goal.
        hazard: Likewise, the atom of what must not happen.

    Raises:
        UnknownEnvironmentError: There is no such environment.
        ModelError: It is not finite.
        SpecError: It needs a spec and has none, or the spec does not fit.
    """
    spec: Spec | None = None
    if spec_file is not None:
        from rewardspec.spec.toml_reading import load_spec

        spec = load_spec(spec_file)
        spec = spec if payment is None else spec.replace(payment=payment)
    # Gymnasium's own environments have other ids than the tasks made from them.
    foreign = isinstance(name, str) and name in gym.registry and not name.startswith("rewardspec/")
    try:
        task = registry.get(name)
    except UnknownEnvironmentError as error:
        if spec is None:
            raise UnknownEnvironmentError(f"{error} An environment of your own needs a spec: --spec FILE.") from None
        foreign = True
    if foreign and spec is not None:
        return _foreign(str(name), spec, goal, hazard)
    if goal is not None or hazard is not None:
        raise SpecError(f"The goal and the hazard of {task.title} are known. Leave --goal and --hazard out.")
    model = finite_model(task.make())
    rewards = rewards_of(task, payment or "value")
    if spec is not None:
        rewards = {
            "base": rewards["base"],
            "spec": spec if spec.atom_functions else spec.replace(atoms=task.atoms),
        }
    return Subject(task.title, task.make, model, intent_of(task, model), rewards)


def _foreign(name: str, spec: Spec, goal: str | None, hazard: str | None) -> Subject:
    def make() -> gym.Env[Any, Any]:
        return gym.make(name)

    try:
        model = finite_model(make())
    except (gym.error.Error, ImportError) as error:
        raise UnknownEnvironmentError(f"Gymnasium cannot make {name!r}: {error}") from None
    if goal is None:
        raise SpecError(f"An audit has to know what {name} is about. Name the spec's atom of the goal: --goal ATOM.")
    intent = intent_from_atoms(model, spec, goal, hazard)
    return Subject(name, make, model, intent, {"base": base_spec(), "spec": spec})
