"""Specs: weighted formulas that become one reward."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rewardspec.atomic_files import write_whole
from rewardspec.errors import SpecError
from rewardspec.logic.quantifiers import Quantified
from rewardspec.machines.array_code import State
from rewardspec.machines.label_checks import as_labels, out_of_range, require_atoms
from rewardspec.machines.machine import Machine, changed, compiled
from rewardspec.machines.namespaces import device_of, namespace_of
from rewardspec.machines.program import Program
from rewardspec.machines.scalar_code import compile_reading
from rewardspec.renamed import renamed
from rewardspec.spec.atoms.batch_labeling import BatchReader
from rewardspec.spec.atoms.functions import AtomFunction, Clipped, reads_only_the_state, takes_info, with_info
from rewardspec.spec.atoms.labeling import StepNumber, read_labels
from rewardspec.spec.infinite_values import REMEDY as INFINITE_VALUE_REMEDY
from rewardspec.spec.infinite_values import infinite_step, infinite_value_message
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import PAYMENTS
from rewardspec.spec.sorts import ONE_EPISODE, OfThings, things_of
from rewardspec.spec.spec_arguments import SpecArguments
from rewardspec.spec.veto_and_reward import LEVELS, NO_PENALTY, PENALTY, VALUES, RewardHead, reward_head
from rewardspec.types import (
    Action,
    Array,
    ArrayNamespace,
    Device,
    DType,
    EpisodeRecord,
    Info,
    LabelFunction,
    Labels,
    MachineState,
    Number,
    Observation,
)

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation
    from rewardspec.spec.lint.findings import Findings
    from rewardspec.spec.named_things import NamedPair, NamedThingsMachine, Population


class Spec(SpecArguments):
    """A set of formulas with weights, the atoms' functions, and how they are paid. A spec never changes.

    Args:
        pairs: Pairs `(formula, weight)`, or `Pair` objects.
        atoms: For each atom a function of `(obs, action, next_obs)` that gives its label in [0, 1], written with
            array operations so that it serves one environment and a batch; or what a spec file would say of it: an
            expression such as `"abs(next_obs[2]) < 0.2"`, see `rewardspec.spec.atoms`. A function may have a fourth
            parameter, `info`. An atom whose name is a comparison, as in `G "abs(next_obs[2]) < 0.2"`, needs none. None
            where labels are given directly.
        penalty: What each step pays after a vetoing pair is violated, unless its pair says otherwise.
        payment: `"value"`, `"delta"`, `"potential"` or `"final"`; see `rewardspec.spec.payments`. A pair may have its
            own.
        discount: The learner's discount, which `"potential"` needs.
        clip: Whether to clip the atoms' labels into [0, 1] instead of refusing others; NaN is always refused.
        max_registers: The budget for each formula's machine.
        semantics: `"degree"`, for labels in [0, 1]; or `"robustness"`, for labels that are any real numbers, as signal
            temporal logic has them: values are then real numbers too, a comparison in a formula or in the text of an
            atom is its signed margin, and a vetoing pair is violated when its value can only be negative.
        bound: For robustness, the largest absolute value that is paid. Robustness is infinite while nothing has been
            measured, as `F[2,5] a` is before step 2; without a bound, such a formula is refused. `math.inf` pays it as
            it is, but not by its changes.
        sorts: The things that quantified formulas are about: for each sort how many there are, as `{"box": 4}`, or
            their names. The label of an atom about them has one more axis, the last, of one number for each. With
            `{"order": "names"}` things appear while an episode runs, and labels are mappings from things to numbers.

    Attributes:
        atoms: The names of the labels that the formulas read: an atom's own, or for one about things one for each, as
            `held(0)`.
        atom_functions: The atoms' functions by name, or None.
        sorts: For each sort the names of its things.

    Example:
        >>> spec = Spec([("F goal", 2), ("G safe", 1)], penalty=-1)
        >>> state = spec.start({"goal": 0.0, "safe": 1.0})
        >>> state, reward = spec.step(state, {"goal": 0.5, "safe": 0.75})
        >>> reward
        1.75
        >>> state, reward = spec.step(state, {"goal": 1.0, "safe": 0.0})
        >>> reward, spec.violated(state)
        (-1.0, True)
        >>> spec = Spec([("mean box: F placed(box)", 1)], sorts={"box": 4})
        >>> spec.step(spec.start({"placed": [0, 0, 0, 0]}), {"placed": [1, 0, 0, 1]})[1]
        0.5
    """

    # The machine.

    @functools.cached_property
    def program(self) -> Program:
        """The one program of all formulas: what each is paid for, and the largest value each veto can still reach."""
        from rewardspec.spec.composition import compose  # here, because it loads the whole synthesis

        return compose(self.pairs, self.max_registers, self.semantics, self.sorts, self.atoms)

    @functools.cached_property
    def machine(self) -> Machine[RewardHead]:
        """The program with its head, which pays.

        Raises:
            SpecError: The robustness of a formula is infinite where it or its change is paid, and there is no bound.
        """
        bound = math.inf if self.bound is None else self.bound
        head = reward_head(self.pairs, self.penalties, self.payment, self.discount, self.semantics, bound, self.sorts)
        if self.semantics == "robustness":
            first = 0  # of the pair's outputs, all of which are infinite at the same steps
            for pair, payment in zip(self.pairs, self.payments, strict=True):
                found = infinite_step(pair, self.program.output(first), payment, self.bound)
                first += len(things_of(pair.formula, self.sorts))
                if found is not None:
                    raise SpecError(f"{infinite_value_message(pair, found)} {INFINITE_VALUE_REMEDY}")
        split = self.axes.split if self.axes.sort_of else None
        if not self._named:
            return Machine(self.program, head, split)
        from rewardspec.spec.named_things import NamedThingsMachine, named_pair  # here, because few specs need it

        vetoes = [k for k, number in enumerate(self._named) if self.pairs[number].vetoes]
        pairs = [named_pair(self.pairs[number], self.max_registers, self.axes.named) for number in self._named]
        return NamedThingsMachine(self.program, head, pairs, vetoes, split)

    @functools.cached_property
    def has_quantifiers(self) -> bool:
        """Whether any pair is about the things of a sort."""
        return any(isinstance(formula, Quantified) for formula in self.formulas)

    @functools.cached_property
    def _starts_at_zero(self) -> bool:
        """Whether any payment telescopes from a baseline of 0."""
        return any(PAYMENTS[way].starts_at_zero for way in self.machine.head.payments)

    @functools.cached_property
    def _named(self) -> tuple[int, ...]:
        """The pairs about things of sorts of names."""
        formulas = enumerate(self.formulas)
        return tuple(
            k for k, formula in formulas if isinstance(formula, Quantified) and not self.sorts[formula.variable]
        )

    @property
    def registers(self) -> tuple[str, ...]:
        """The names of its registers."""
        return self.program.registers

    @property
    def states(self) -> range:
        """Its control states."""
        return range(len(self.program.steps))

    # Labels.

    @functools.cached_property
    def _functions(self) -> dict[str, AtomFunction]:
        """The atoms' functions: only of what the formulas read, in their order."""
        if self.atom_functions is None:
            raise SpecError(
                "This spec has no atoms' functions. Pass `atoms`, or give labels directly to start and step."
            )
        return {name: self.atom_functions[name] for name in (*self.axes.labels_of, *self.axes.named)}

    @functools.cached_property
    def _readers(self) -> dict[str, LabelFunction]:
        return {name: with_info(function) for name, function in self._functions.items()}

    @functools.cached_property
    def batch_reader(self) -> BatchReader:
        """Reader of the labels of batches, which `labels` calls.

        Raises:
            SpecError: The spec has a sort of names, and runs one episode at a time.
        """
        if self._named:
            raise SpecError(ONE_EPISODE)
        return BatchReader(self._functions, self.clip, self.semantics, self.axes if self.axes.sort_of else None)

    @functools.cached_property
    def reads_transitions(self) -> bool:
        """Whether labels depend on the observation before the step or on the action."""
        return not all(map(reads_only_the_state, self._functions.values()))

    @functools.cached_property
    def reads_info(self) -> bool:
        """Whether labels depend on `info`."""
        return any(map(takes_info, self._functions.values()))

    def labels(
        self,
        obs: Observation,
        action: Action,
        next_obs: Observation,
        info: Info | None = None,
        *,
        step: StepNumber = None,
        batch: int | None = None,
        envs: Sequence[int] | NDArray[np.intp] | None = None,
        on_device: bool = True,
    ) -> dict[str, Number]:
        """Compute the labels of one transition, or of a batch of transitions, with the atoms' functions.

        At reset, `obs` is `next_obs`, `action` is None and `info` is that of the reset.

        Args:
            obs: Observation before the action, or a batch of them.
            action: The action, or a batch of them.
            next_obs: Observation after the action, or a batch of them.
            info: The `info` of the step, or the `infos` of a vector environment.
            step: Number of the step, for error messages.
            batch: Number of transitions; None for one transition.
            envs: Environment number of each transition, for error messages, if it is not its index.
            on_device: Whether labels of a batch that the atoms compute in JAX or torch stay there. Otherwise they
                become NumPy arrays.

        Returns:
            The label of each atom: a float, or an array of shape (batch,). NumPy labels are checked to be in [0, 1].
            Labels of JAX and torch are not, as in `step`, so that this method can be compiled. An atom about things
            has a label for each, as `held(0)`.
        """
        if batch is None:
            axes = self.axes if self.axes.sort_of or self.axes.named else None
            options: Any = {"step": step, "clip": self.clip, "semantics": self.semantics, "axes": axes}
            return read_labels(self._readers, obs, action, next_obs, info, **options)
        return self.batch_reader.read(obs, action, next_obs, batch, info, step=step, envs=envs, on_device=on_device)

    # Running.

    def initial_state(
        self,
        batch: int | Sequence[int] | None = None,
        xp: ArrayNamespace = None,
        dtype: DType = None,
        device: Device = None,
        check_labels: bool = False,
    ) -> MachineState:
        """Return the state before the first labels, which `start` reads; see `Monitor.initial_state`."""
        return self.machine.initial_state(batch, xp, dtype, device, check_labels)

    def start(
        self,
        labels: Labels,
        batch: int | tuple[int, ...] | None = None,
        *,
        xp: ArrayNamespace | None = None,
        device: Device = None,
        check_labels: bool = True,
    ) -> MachineState:
        """Return the state after a reset. Its labels are read, but pay nothing.

        Args:
            labels: The labels of the first state. Their type decides how the spec runs: numbers for one episode, arrays
                for a batch, which computes in their type. Labels in half precision (bfloat16, float16) are converted to
                float32, so that values and rewards are not rounded.
            batch: Size or shape of the batch, for a spec without atoms or labels that are numbers.
            xp: Array library of such a batch: NumPy if None.
            device: Device of the batch, likewise.
            check_labels: Whether a batch in JAX or torch notes which labels are out of range or NaN, here and in every
                later step, for `invalid_labels` to tell. In NumPy such a label is an error at once.
        """
        if xp is None and any(namespace_of(label) not in (None, np) for label in labels.values()):
            batch = None  # arrays of JAX or torch say it, and where they are
        state, _ = self.step(self.initial_state(batch, xp, device=device), labels)
        if check_labels and type(state) is State and self.atoms:
            labels = self.axes.split(labels)
            like = state.memory[PENALTY]
            xp = namespace_of(like) or np
            if xp is not np:
                read = [as_labels(atom, labels[atom], like, xp) for atom in self.atoms]
                state = state._replace(invalid=out_of_range(read, self.semantics, xp))
        return self.reset_baseline(state)

    def invalid_labels(self, state: MachineState) -> dict[str, Number]:
        """Return for each atom a mask of labels that have been out of range or NaN since `start`, of the batch's shape.

        For batches in JAX and torch, whose labels cannot be checked as they are read without waiting for the device.

        Raises:
            LabelError: The state was started without `check_labels`, or is not one of JAX or torch.

        Example:
            >>> import torch
            >>> spec = Spec([("F goal", 1)])
            >>> state = spec.start({"goal": torch.tensor([0.5, 1.5])})
            >>> spec.invalid_labels(state)
            {'goal': tensor([False,  True])}
        """
        return self.machine.invalid_labels(state) if self.atoms else {}

    def reset_baseline(self, state: MachineState, where: Array = None) -> Any:
        """Set the level before the first step to 0, so that the payment `delta` pays the first level in full.

        In a batch, `where` says which elements were reset: indices in NumPy, a mask in JAX and torch; None for all.
        """
        if not self._starts_at_zero:
            return state
        ways = self.machine.head.payments
        memory = list(self._memory(state))
        memory[LEVELS] = tuple(
            _zero_at(level, where) if PAYMENTS[way].starts_at_zero else level
            for level, way in zip(memory[LEVELS], ways, strict=True)
        )
        if type(state) is tuple:
            return (*state[: len(state) - len(memory)], *memory)
        return state._replace(memory=tuple(memory))

    @compiled
    def step(
        self,
        state: MachineState,
        labels: Labels,
        base_reward: Number = 0.0,
        terminated: Number = False,
        truncated: Number = False,
    ) -> tuple[MachineState, Array]:
        """Read the labels of one transition, and return the new state and the reward.

        All may be arrays for a batch. States are not changed: each call returns a new one.

        Args:
            state: What `start` or `step` gave.
            labels: The labels.
            base_reward: The environment's own reward, which `potential` adds to.
            terminated: Whether the episode terminated here, which `potential` and `final` need to know.
            truncated: Whether the episode was truncated here, which `final` needs to know.

        Returns:
            The new state, and the reward.

        Raises:
            LabelError: A label is missing or out of range, or an argument's shape is not the batch's.
        """
        return self.machine.step(state, labels, base_reward, terminated, truncated)

    @functools.cached_property
    def transition(self) -> Callable[..., tuple[Any, Any]]:
        """`transition(state, obs, action, next_obs, info, base_reward, terminated, truncated) -> (state, reward)`.

        `labels` and `step` of one environment in one, and quicker.  An atom's own exception comes through as it is, and
        a label out of range as a bare ValueError; call `labels` with the same transition to learn more.
        """
        if self._named:
            return self._read_and_step
        functions = [
            OfThings(f, name, self.axes, self.clip) if name in self.axes.sort_of else Clipped(f) if self.clip else f
            for name, f in self._functions.items()
        ]
        given = [", info=info" * takes_info(function) for function in functions]
        calls = [f"f{k}(obs, action, next_obs{info})" for k, info in enumerate(given)]
        names: dict[str, Any] = {f"f{k}": function for k, function in enumerate(functions)}
        widths = [len(self.axes.labels_of[name]) if name in self.axes.sort_of else 0 for name in self._functions]
        return compile_reading(self.program, self.machine.head, list(zip(calls, widths, strict=True)), names)

    def _read_and_step(
        self, state: Any, obs: Any, action: Any, next_obs: Any, info: Any, *given: Any
    ) -> tuple[Any, Any]:
        return self.step(state, self.labels(obs, action, next_obs, info), *given)

    def reset(self, state: MachineState, labels: Labels, mask: Array) -> MachineState:
        """Restart the masked elements of a batch with these labels. Labels of other elements are not read."""
        if type(state) is tuple:
            raise SpecError("Only a part of a batch can be reset. Call start for the next episode of one environment.")
        like = state.memory[PENALTY]
        xp = namespace_of(like) or np
        mask = xp.asarray(mask)
        if mask.shape != like.shape:
            shapes = f"{tuple(like.shape)}. Received shape {tuple(mask.shape)}"
            raise SpecError(f"`mask` should have the batch's shape, {shapes}.")
        labels = self.axes.split(labels)
        require_atoms(labels, self.atoms)
        read = {a: as_labels(a, labels[a], like, xp) for a in self.atoms}
        if xp is np:  # where labels are checked, though these will not be chosen
            read = {a: np.where(mask, values, 0.0) for a, values in read.items()}
        fresh = self._start_like(read, like)
        return self.machine.restart(state, fresh, mask)

    def _start_like(self, labels: Labels, like: Array) -> State:
        """`start` of a batch of the shape, library and device of an array."""
        if self.atoms:
            started: State = self.start(labels)
        else:
            started = self.start({}, tuple(like.shape), xp=namespace_of(like), device=device_of(like))
        return started

    # Looking at states.

    def _memory(self, state: MachineState) -> tuple[Number, ...]:
        return state[-3:] if type(state) is tuple else state.memory

    def values(self, state: MachineState) -> tuple[Number, ...]:
        """Return the value of each formula, or its progress if the pair has `progress=True`."""
        return self._memory(state)[VALUES][: len(self.pairs)]  # type: ignore[no-any-return]

    def thing_values(self, state: MachineState, number: int) -> dict[Any, Any]:
        """Return the value of a pair's formula for each of its things, or its progress if the pair has `progress=True`.

        Example:
            >>> spec = Spec([("mean box: F placed(box)", 1)], sorts={"box": 3})
            >>> spec.thing_values(spec.start({"placed": [1, 0, 0.5]}), 0)
            {'0': 1.0, '1': 0.0, '2': 0.5}
        """
        if number in self._named:
            pair, population = self._named_pair(state, number)
            return pair.values(population)
        first = len(self.pairs) + sum(len(self.things(k)) for k in range(number))
        things = self.things(number)
        return dict(zip(things, self._memory(state)[VALUES][first : first + len(things)], strict=True))

    def _named_pair(self, state: MachineState, number: int) -> tuple[NamedPair, Population]:
        """A pair about things of a sort of names, and those things."""
        machine, place = cast("NamedThingsMachine", self.machine), self._named.index(number)
        return machine.pairs[place], machine.populations(state)[place]

    def worst_things(self, state: MachineState) -> dict[str, Any]:
        """Return for each pair about things, by its name, the thing with the smallest value; the first of several.

        Returns:
            For one episode a thing's name, for a batch an array of them, of the batch's shape. None for a sort of
            names where no thing has a smaller value than one that was never named.

        Example:
            >>> spec = Spec([("forall box: F placed(box)", 1)], sorts={"box": 3})
            >>> spec.worst_things(spec.start({"placed": [1, 0, 0.5]}))
            {'forall box: F placed(box)': '1'}
        """
        found: dict[str, Array] = {}
        for number, name in enumerate(self.names):
            if number in self._named:
                pair, population = self._named_pair(state, number)
                found[name] = pair.worst(population)
                continue
            values = self.thing_values(state, number)
            if not values:
                continue
            if type(state) is tuple:
                found[name] = min(values, key=values.__getitem__)
            else:
                columns = np.stack([np.asarray(column) for column in values.values()])
                found[name] = np.array(list(values))[columns.argmin(axis=0)]
        return found

    def register_values(self, state: MachineState) -> tuple[Any, ...]:
        """Return the values of the registers."""
        found: tuple[Array, ...] = state[1 : 1 + len(self.registers)] if type(state) is tuple else state.registers
        return found

    def control_state(self, state: MachineState) -> Any:
        """Return the control state: an integer, or an array of integers for a batch."""
        if type(state) is tuple:
            return state[0]
        if state.control is not None:
            return state.control
        like = state.memory[PENALTY]
        xp = namespace_of(like) or np
        return xp.zeros_like(like, dtype=xp.int32)  # the only one there is

    def violated(self, state: MachineState) -> Array:
        """Return whether a vetoing pair has been violated in this episode."""
        penalty = self.penalty_in_force(state)
        return bool(penalty != NO_PENALTY) if type(state) is tuple else penalty != NO_PENALTY

    def penalty_in_force(self, state: MachineState) -> Array:
        """Return the lowest penalty among the violated vetoing pairs; infinite while there are none."""
        return self._memory(state)[PENALTY]

    def level(self, state: MachineState) -> Array:
        """Return the weighted sum of the values, or the penalty once a vetoing pair has been violated."""
        return functools.reduce(lambda a, b: a + b, self._memory(state)[LEVELS])

    def levels(self, state: MachineState) -> tuple[Number, ...]:
        """Return the level of each payment that occurs, that of the spec first."""
        return self._memory(state)[LEVELS]  # type: ignore[no-any-return]

    unpaid = renamed("Spec.unpaid", "Spec.reset_baseline", reset_baseline)
    registers_of = renamed("Spec.registers_of", "Spec.register_values", register_values)
    control = renamed("Spec.control", "Spec.control_state", control_state)

    # Reports and files; each lives in a module of its own, loaded when first used.

    def lint(
        self,
        *,
        initial_labels: Labels | None = None,
        max_episode_steps: int | None = None,
        observe: str | None = None,
    ) -> Findings:
        """Check the spec for likely mistakes, each with its reason and a remedy; see `rewardspec.spec.lint`.

        Args:
            initial_labels: Labels of states after reset, an array for each atom, as `labels` gives them. With them, a
                vetoing pair that any of these states violates is an error.
            max_episode_steps: After how many steps episodes end. With it, bounds are found that no episode reaches.
            observe: What of the monitors the agent will see, as wrappers take it, or `"nothing"`. With it, windows and
                registers are found that it does not see all of.

        Example:
            >>> [finding.rule for finding in Spec([("F G true & !reach_goal", -1)]).lint()]
            ['first-state-only']
        """
        from rewardspec.spec.lint.linter import lint

        return lint(self, initial_labels=initial_labels, max_episode_steps=max_episode_steps, observe=observe)

    def explain(self, episode: EpisodeRecord) -> Explanation:
        """Explain the reward of every step of an episode by the formula, atom and earlier step that decided it.

        Args:
            episode: For each atom its labels, from reset to the last step. For a spec with atoms' functions also a
                mapping or an object with `observations`, one more than steps, and `actions`. Either may have `rewards`,
                `terminations` and `truncations`; without the latter two the episode was cut short at its last step.

        Raises:
            LabelError: A label is missing or not in [0, 1].
            RecordingError: The recorded arrays do not fit together.
        """
        from rewardspec.episodes.explanation import explain

        return explain(self, episode)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, references: bool = True) -> Spec:
        """Load a spec from a TOML file; see `rewardspec.spec.toml_reading`.

        Args:
            path: The file.
            references: Whether its atoms may name functions. Their modules are imported, which runs their code: pass
                False for a file that you do not trust.
        """
        from rewardspec.spec.toml_reading import load_spec

        return load_spec(path, references)

    @classmethod
    def from_toml(cls, text: str, *, references: bool = True) -> Spec:
        """Load a spec from TOML text; `references` as for `load`."""
        from rewardspec.spec.toml_reading import loads_spec

        return loads_spec(text, references)

    def to_toml(self) -> str:
        """Return the spec as TOML text, for `Spec.from_toml`.

        Raises:
            SpecError: An atom is a function that no file can name, or the atoms do not fit into one file.

        Example:
            >>> spec = Spec([("F goal", 2)])
            >>> Spec.from_toml(spec.to_toml()) == spec
            True
        """
        from rewardspec.spec.toml_writing import dumps_spec

        return dumps_spec(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the spec to a TOML file, all of it or nothing.

        Raises:
            SpecError: An atom cannot be saved, or the file cannot be written.
        """
        content = self.to_toml()
        try:
            write_whole(path, content.encode())
        except OSError as error:
            raise SpecError(f"Cannot write the spec {os.fspath(path)!r}: {error.strerror}.") from None

    def to_c(self, name: str = "m") -> str:
        """Return the spec as one C99 file that needs only `math.h`; see `rewardspec.export.c_code`.

        Atoms' functions stay behind: a step is given the labels.

        Args:
            name: What its identifiers start with: `m_state`, `m_start`, `m_step` and so on.
        """
        from rewardspec.export.c_code import to_c
        from rewardspec.export.sources import source_of_spec

        return to_c(source_of_spec(self, name))

    def to_js(self, name: str = "m") -> str:
        """Return the spec as one ES module with the pure functions `start(labels)` and `step(state, labels)`."""
        from rewardspec.export.js_code import to_js
        from rewardspec.export.sources import source_of_spec

        return to_js(source_of_spec(self, name))


@functools.lru_cache(maxsize=1024)
def alone(spec: Spec, pair: Pair) -> Spec:
    """One pair, by a spec's semantics, penalty and budget, on labels that are given."""
    return spec.replace(pairs=[pair], atoms=None, payment="value")


def _zero_at(level: Number, where: Array) -> Number:
    """Set a level, or some elements of a batch's, to 0. Multiplying by 0 would not do: a level may be infinite."""
    if isinstance(level, float | int):
        return 0.0
    xp = namespace_of(level) or np
    if where is None:
        return xp.zeros_like(level)
    return changed(level, where, 0.0) if xp is np else xp.where(where, xp.zeros_like(level), level)
