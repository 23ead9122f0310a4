"""Former names of modules that moved; importing one works, with a DeprecationWarning."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
import warnings
from collections.abc import Sequence

MOVED = {
    "rewardspec.tasks": "rewardspec.lab.tasks",
    "rewardspec.tasks.label_functions": "rewardspec.spec.atoms.label_functions",
    "rewardspec.tasks.registry": "rewardspec.lab.tasks.task_lookup",
    "rewardspec.tasks.paper": "rewardspec.lab.tasks.environments",
    "rewardspec.lab.paper.tasks": "rewardspec.lab.tasks.environments",
    "rewardspec.tasks.paper.as_published": "rewardspec.lab.paper.as_published",
    "rewardspec.learning": "rewardspec.lab.learning",
    "rewardspec.experiments": "rewardspec.lab.experiments",
    "rewardspec.experiments.paper": "rewardspec.lab.paper",
    "rewardspec.lab.learning.encoders": "rewardspec.lab.learning.networks",
    "rewardspec.logic.nodes": "rewardspec.logic.formulas",
}
"""Former and present names of packages and modules; what is inside a package moved with it, unless it is listed too."""

# `from rewardspec.tasks import paper` looks for `paper` in the package of the present name.
_NAMES = MOVED | {
    f"{MOVED[package]}.{module}": present
    for name, present in MOVED.items()
    for package, _, module in [name.rpartition(".")]
    if package in MOVED
}


def present_name(name: str) -> str | None:
    """Present name of a module, or None if it has not moved.

    Example:
        >>> present_name("rewardspec.tasks.task"), present_name("rewardspec.tasks.paper.taxi")
        ('rewardspec.lab.tasks.task', 'rewardspec.lab.tasks.environments.taxi')
    """
    package, inside = name, ""
    while package not in _NAMES:
        package, dot, last = package.rpartition(".")
        if not dot:
            return None
        inside = f".{last}{inside}"
    return _NAMES[package] + inside


class MovedModules:
    """An import hook that resolves a former name to the very module of the present name, not to a copy.

    A finder and loader, but not of the classes of `importlib.abc`: to load that module takes longer than all the rest.
    """

    @classmethod
    def install(cls) -> None:
        """Put the hook first: the path of a moved package would otherwise load its modules twice."""
        if not any(isinstance(finder, cls) for finder in sys.meta_path):
            sys.meta_path.insert(0, cls())

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module by a former name, and warn."""
        present = present_name(name) if name.startswith("rewardspec.") else None
        if present is None:
            return None
        warnings.warn(f"{name} is now {present}. Import it from there.", DeprecationWarning, stacklevel=2)
        return importlib.machinery.ModuleSpec(name, self)  # type: ignore[arg-type]  # not derived from `Loader`

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Replace the new, empty module by that of the present name."""
        present = present_name(module.__name__)
        assert present is not None
        sys.modules[module.__name__] = importlib.import_module(present)
