"""Register programs: what a monitor does to its registers, letter by letter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rewardspec.machines.expressions import Expression


@dataclass(frozen=True)
class Step:
    """What one control state does with a letter.

    Attributes:
        updates: For each register its new value, or None where nothing reads it before it is written again.
        output: The value after the letter.
    """

    updates: tuple[Expression | None, ...]
    output: Expression


@dataclass(frozen=True)
class Program:
    """Control states visited one after the other; the last leads back to number `loop`.

    Attributes:
        atoms: The atoms whose labels a step reads.
        initial: The registers' first values, each 0 or 1.
        steps: One for each control state.
        loop: The control state after the last.
    """

    atoms: tuple[str, ...]
    initial: tuple[float, ...]
    steps: tuple[Step, ...]
    loop: int

    def successor(self, control: int) -> int:
        """The control state after the given one."""
        return control + 1 if control + 1 < len(self.steps) else self.loop

    def expressions(self) -> Iterator[Expression]:
        """All updates and outputs."""
        for step in self.steps:
            yield from (update for update in step.updates if update is not None)
            yield step.output
