"""A small policy learns a tool-use task, paid for each turn or at the end of the conversation.

python benchmarks/transcript_training.py > benchmarks/results/transcript_training.md

The task: an agent has nine tools and twelve turns. It has to look an order up, ask the user, get a yes, refund this
order, and write a summary, in this order. The policy is a table of logits over the tools, one row for each stage of the
task; REINFORCE with the batch's mean return of each turn as its baseline. The spec is the same in both cases, and pays
the same sum for each conversation; only when it is paid differs.
"""

from __future__ import annotations

import json

import numpy as np

import rewardspec as rs
from rewardspec.transcripts import Scorer

TOOLS = ("get_order", "ask", "refund", "summary", "search", "think", "get_user", "cancel", "finish")
TURNS, BATCH, UPDATES, RATE, SEEDS = 12, 16, 400, 0.5, 10
SPEC = """
penalty = 0.0
[atoms]
looked_up = { result = "get_order" }
yes = { user = "yes" }
refunded = { result = "refund" }
summary = { result = "summary" }

[[pairs]]
formula = "F(looked_up & F(yes & F(refunded & F summary)))"
weight = 1
progress = true
"""


def play(logits: np.ndarray, rng: np.random.Generator) -> tuple[list[dict], list[tuple[int, int]], bool]:
    """One conversation: its messages, the states and actions, and whether the task was done."""
    messages: list[dict] = [{"role": "user", "content": "Refund my order, please."}]
    taken, stage = [], 0
    order = ("get_order", "ask", "refund", "summary")
    for turn in range(TURNS):
        odds = np.exp(logits[stage] - logits[stage].max())
        action = int(rng.choice(len(TOOLS), p=odds / odds.sum()))
        taken.append((stage, action))
        name = TOOLS[action]
        if name == "ask":
            messages.append({"role": "assistant", "content": "Shall I refund it?"})
            messages.append({"role": "user", "content": "Yes." if stage >= 1 else "Which order?"})
            stage += stage == 1
            continue
        call = {"id": str(turn), "function": {"name": name, "arguments": json.dumps({"order_id": 7})}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        failed = name == "refund" and stage < 2
        messages.append(
            {"role": "tool", "tool_call_id": str(turn), "content": "Error: not allowed" if failed else "ok"}
        )
        if stage < len(order) and name == order[stage]:
            stage += 1
        if name == "finish" or stage == len(order):
            break
    return messages, taken, stage == len(order)


def train(per_turn: bool, seed: int, scorer: Scorer) -> int | None:
    """The number of turns taken until nine of ten conversations of a batch succeed; None if that never happens."""
    rng = np.random.default_rng(seed)
    logits, turns = np.zeros((5, len(TOOLS))), 0
    streak = 0
    for _ in range(UPDATES):
        batch = [play(logits, rng) for _ in range(BATCH)]
        turns += sum(len(taken) for _, taken, _ in batch)
        streak = streak + 1 if np.mean([done for *_, done in batch]) >= 0.9 else 0
        if streak == 3:
            return turns
        returns = np.zeros((BATCH, TURNS))
        for k, (messages, taken, _) in enumerate(batch):
            scored = scorer(messages)
            rewards = np.zeros(TURNS)
            if per_turn:
                rewards[: len(taken)] = scored.turns
            else:
                rewards[len(taken) - 1] = scored.total
            returns[k] = rewards[::-1].cumsum()[::-1]
        lengths = np.array([len(taken) for _, taken, _ in batch])
        alive = np.arange(TURNS) < lengths[:, None]
        baseline = (returns * alive).sum(0) / np.maximum(alive.sum(0), 1)
        step = np.zeros_like(logits)
        for k, (_, taken, _) in enumerate(batch):
            for turn, (stage, action) in enumerate(taken):
                odds = np.exp(logits[stage] - logits[stage].max())
                advantage = returns[k, turn] - baseline[turn]
                step[stage] -= advantage * odds / odds.sum()
                step[stage, action] += advantage
        logits += RATE * step / BATCH
    return None


def main() -> None:
    """Print the turns until success."""
    scorer = Scorer(rs.Spec.from_toml(SPEC))
    print(f"Turns until nine of ten conversations succeed in three batches in a row, {SEEDS} seeds, at most {UPDATES}")
    print(f"updates of {BATCH} conversations:\n")
    print("| paid | median | least | most | seeds that succeed |\n|---|--:|--:|--:|--:|")
    for title, per_turn in (("per turn", True), ("at the end", False)):
        found = [train(per_turn, seed, scorer) for seed in range(SEEDS)]
        done = sorted(turns for turns in found if turns is not None)
        ranked = sorted(np.inf if turns is None else turns for turns in found)
        median = (ranked[SEEDS // 2 - 1] + ranked[SEEDS // 2]) / 2
        shown = f"{median:,.0f}" if np.isfinite(median) else "–"
        least, most = (f"{done[0]:,}", f"{done[-1]:,}") if done else ("–", "–")
        print(f"| {title} | {shown} | {least} | {most} | {len(done)} of {SEEDS} |")


if __name__ == "__main__":
    main()
