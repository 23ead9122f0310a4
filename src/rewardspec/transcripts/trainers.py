"""Reward functions in the form that trainers of language models call. None of these libraries is imported.

Each adapter is a function from a spec to a function with the trainer's signature:

* `verifiers_reward`: a reward of a task in verifiers 0.4, called with the `trace`;
* `verifiers_rubric`: functions for `verifiers.Rubric(funcs=…, weights=…)` before 0.4, called with `prompt` and
  `completion`;
* `trl_reward`: a function for `reward_funcs` of TRL's trainers, called with lists `prompts` and `completions`;
* `verl_reward`: a `compute_score` for verl's custom reward function, and `turn_scores` in its result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from rewardspec.errors import RecordingError, shown
from rewardspec.spec.spec import Spec
from rewardspec.transcripts.messages import Message
from rewardspec.transcripts.rewards import Scorer
from rewardspec.types import Json

RewardFunction: TypeAlias = Callable[..., float]
BatchRewardFunction: TypeAlias = Callable[..., list[float]]


class Trace(Protocol):
    """What is read of a trace of verifiers 0.4."""

    @property
    def messages(self) -> Sequence[Json]:
        """The messages of the rollout: mappings, or pydantic models of them."""


def verifiers_reward(spec: Spec) -> Callable[[Trace], Awaitable[float]]:
    """Make a reward for tasks of verifiers 0.4, for `rewards` of a configuration or a method with `@reward`.

    It is the spec's total. verifiers records one number for each rollout; `Scorer` has the turns' rewards.
    """
    scorer = Scorer(spec)

    async def rewardspec(trace: Trace) -> float:
        return scorer(_conversation([], trace.messages)).total

    return rewardspec


def verifiers_rubric(spec: Spec) -> tuple[list[RewardFunction], list[float]]:
    """Make reward functions and their weights for a rubric of verifiers before 0.4.

    The first has the spec's total and the weight 1. The others have the value of one formula each and the weight 0, so
    that verifiers lists them as metrics. The turns' rewards are in `state["turn_rewards"]`.

    Returns:
        `funcs` and `weights` of `verifiers.Rubric`.
    """
    scorer = Scorer(spec)

    def rewardspec_total(prompt: Json, completion: Json, state: dict[str, Json] | None = None) -> float:
        scored = scorer(_conversation(prompt, completion))
        if state is not None:
            state["turn_rewards"] = scored.turns
        return scored.total

    def metric(name: str) -> RewardFunction:
        def value(prompt: Json, completion: Json) -> float:
            return scorer(_conversation(prompt, completion)).values[name]

        value.__name__ = name
        return value

    return [rewardspec_total, *map(metric, spec.names)], [1.0, *[0.0] * len(spec.pairs)]


def trl_reward(spec: Spec, name: str = "rewardspec") -> BatchRewardFunction:
    """Make a reward function for `reward_funcs` of TRL's trainers, on conversational data.

    TRL takes one number for each completion: the spec's total. `name` is what its logs call it.
    """
    scorer = Scorer(spec)

    def reward(completions: Sequence[Json], prompts: Sequence[Json] | None = None, **columns: Json) -> list[float]:
        before = prompts if prompts is not None else [[]] * len(completions)
        return [scorer(_conversation(*pair)).total for pair in zip(before, completions, strict=True)]

    reward.__name__ = name
    return reward


def verl_reward(spec: Spec, response_is_message: bool = False) -> Callable[..., dict[str, Json]]:
    """Make a `compute_score` for verl's custom reward function.

    verl passes the decoded response as text, in which calls cannot be told from words. The messages are read from
    `extra_info["messages"]`, which an agent loop has to put there.

    Args:
        spec: The spec.
        response_is_message: Where there are no messages, score the response as one message of the assistant, which is
            right for agents without tools that answer once; without it, this raises an error.

    Returns:
        A function whose result has `score`, the spec's total, and `turn_scores`, which add up to it.
    """
    scorer = Scorer(spec)

    def compute_score(
        data_source: str,
        solution_str: str,
        ground_truth: Json = None,
        extra_info: Mapping[str, Json] | None = None,
        **options: Json,
    ) -> dict[str, Json]:
        found = (extra_info or {}).get("messages")
        if found is None and not response_is_message:
            raise RecordingError(
                f"verl_reward needs the conversation in extra_info['messages']. Received {shown(extra_info)}. Let your "
                "agent loop put it there, or score the response as one message: response_is_message=True."
            )
        scored = scorer(_conversation([], solution_str if found is None else found))
        return {"score": scored.total, "turn_scores": scored.turns}

    return compute_score


def _conversation(prompt: Json, completion: Json) -> list[Message]:
    """The messages of a prompt and of what followed; text becomes a message."""
    return _messages(prompt, "user") + _messages(completion, "assistant")


def _messages(part: Json, role: str) -> list[Message]:
    if isinstance(part, str):
        return [{"role": role, "content": part}]
    if part is None:
        return []
    if not isinstance(part, Sequence):
        raise RecordingError(f"A conversation should be text or a list of messages. Received {shown(part)}.")
    return [message if isinstance(message, Mapping) else message.model_dump() for message in part]
