"""Time of the guard of a language agent: one call judged by ten rules, with 100 ids alive in each.

python benchmarks/transcript_guard.py > benchmarks/results/transcript_guard.md

Times are of this process alone (CPU time), the best of several rounds.
"""

from __future__ import annotations

import json
import platform
import time

import rewardspec as rs
from rewardspec.transcripts import Guard

LIVE, REPEATS, ROUNDS = 100, 2_000, 9
BODIES = (
    "G(refund(x) -> O looked_up(x))",
    "G(refund(x) -> O[1,400] agreed)",
    "G{3} !looked_up_call(x)",
    "G(refund(x) -> WX G !refund(x))",
    "G(looked_up_call(x) -> F looked_up(x))",
    "!refund(x) W looked_up_call(x)",
    "G(cancel(x) -> O looked_up(x) & !O refund(x))",
    "G(failed(x) -> WX !refund(x))",
    "G(looked_up(x) -> F closed(x))",
    "G(refund(x) -> !O failed(x))",
)
ATOMS = """
refund = { call = "refund", id = "order_id" }
cancel = { call = "cancel", id = "order_id" }
looked_up_call = { call = "get_order", id = "order_id" }
looked_up = { result = "get_order", id = "order_id" }
failed = { error = "get_order", id = "order_id" }
closed = { result = "close", id = "order_id" }
agreed = { user = "yes" }
"""


def main() -> None:
    """Print the times."""
    pairs = "".join(f'[[pairs]]\nformula = "forall x: {body}"\nweight = 1\n' for body in BODIES)
    guard = Guard(rs.Spec.from_toml(f'sorts = {{ x = "names" }}\n[atoms]{ATOMS}{pairs}'))
    guard.add({"role": "user", "content": "Yes, all of them."})
    for number in range(LIVE):
        call = {"id": str(number), "function": {"name": "get_order", "arguments": json.dumps({"order_id": number})}}
        guard.add({"role": "assistant", "content": None, "tool_calls": [call]})
        guard.add({"role": "tool", "tool_call_id": str(number), "content": "found"})
    alive = [len(state.things) for state in guard._states]
    cases = {
        "allowed, of an id that is alive": ("refund", {"order_id": 50}, True),
        "blocked, of an id not seen before": ("refund", {"order_id": 1_000}, False),
        "of a tool that no rule names": ("other", {"order_id": 50}, True),
    }
    print(f"One call judged by {len(BODIES)} rules, with {LIVE} ids in the conversation ({min(alive)} to {max(alive)}")
    print("alive in a rule):\n\n| call | time |\n|---|--:|")
    for title, (name, arguments, allowed) in cases.items():
        assert guard.check(name, arguments).allowed == allowed
        times = []
        for _ in range(ROUNDS):
            began = time.process_time()
            for _ in range(REPEATS):
                guard.check(name, arguments)
            times.append((time.process_time() - began) / REPEATS)
        print(f"| {title} | {min(times) * 1e6:.1f} µs |")
    print(f"\n(Python {platform.python_version()}.)")


if __name__ == "__main__":
    main()
