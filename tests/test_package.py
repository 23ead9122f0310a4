"""The package as a whole: what an import costs, and which layer knows which."""

import ast
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rewardspec

ROOT = Path(rewardspec.__file__).parent
FOUNDATIONS = ("errors", "atomic_files")
LAYERS = (
    *FOUNDATIONS,
    *(
        "logic",
        "machines",
        "synthesis",
        "drawing",
        "spec",
        "export",
        "episodes",
        "pages",
        "finite",
        "wrappers",
        "tasks",
        "audit",
    ),
    *("learning", "experiments", "cli"),
)
FRONT = "rewardspec"  # the package's own `__init__`, which gathers the public names of every layer


def test_importing_needs_the_core_alone():
    code = "import sys, rewardspec; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "rewardspec" in loaded
    assert not {"jax", "torch", "matplotlib", "ray", "pandas", "stable_baselines3"} & set(loaded)


def test_every_public_name_exists_once():
    assert all(hasattr(rewardspec, name) for name in rewardspec.__all__)
    assert len(set(rewardspec.__all__)) == len(rewardspec.__all__)


def layer_of(module: str) -> str:
    """The layer that a module, by its full name, belongs to."""
    parts = module.split(".")
    if len(parts) == 1:
        return FRONT
    name = {"__main__": "cli", "sb3": "learning"}.get(parts[1], parts[1])
    return next((layer for layer in LAYERS if name == layer or (layer == "spec" and name.startswith("spec"))), name)


def imports_of(tree: ast.AST) -> Iterator[str]:
    """The modules of this package that an import brings along; not those for type checkers, or inside functions.

    A method may hand over to a lower layer, such as `spec.explain` to `episodes`; it imports that when it is called.
    """
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.FunctionDef):
            continue
        pending.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "rewardspec")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports should be absolute"
            if node.module == "rewardspec":
                submodules = [alias.name for alias in node.names if f"{alias.name}" in LAYERS]
                yield from (f"rewardspec.{name}" for name in submodules)
                if len(submodules) < len(node.names):
                    yield "rewardspec"
            elif node.module and node.module.startswith("rewardspec."):
                yield node.module


def dependencies() -> Iterator[tuple[str, str, str]]:
    """Every import within the package: the file, its layer, and the layer that it imports."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        own = layer_of(".".join(part for part in parts if part != "__init__"))
        if own != FRONT:
            for module in imports_of(ast.parse(path.read_text(encoding="utf-8"))):
                yield str(path.relative_to(ROOT)), own, layer_of(module)


def test_each_layer_imports_only_those_above_it():
    # Names that only the command line may take from the front, which imports everything else.
    allowed = set(itertools.combinations_with_replacement((*LAYERS[:-1], FRONT, LAYERS[-1]), 2))
    found = list(dependencies())
    assert {own for _, own, _ in found} >= {"logic", "machines", "synthesis", "cli"}
    unknown = {layer for _, *layers in found for layer in layers} - {*LAYERS, FRONT}
    assert not unknown, "a new layer needs a place in LAYERS"
    violations = [f"{path}: {own} imports {other}" for path, own, other in found if (other, own) not in allowed]
    assert not violations


def test_a_misspelt_name_is_answered_with_the_right_one():
    with pytest.raises(AttributeError, match="Did you mean 'synthesize'"):
        _ = rewardspec.synthesise
    with pytest.raises(AttributeError, match="Did you mean 'wrappers'"):
        _ = rewardspec.wrapper


def test_type_checkers_see_what_is_loaded_later():
    tree = ast.parse(Path(rewardspec.__file__).read_text())
    guarded = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for branch in guarded for node in branch.body if isinstance(node, ast.ImportFrom)]
    found = {
        alias.name: (f"{node.module}.{alias.name}", None) if rewardspec._LATER[alias.name][1] is None
        else (node.module, alias.name)
        for node in imports
        for alias in node.names
    }  # fmt: skip
    assert found == rewardspec._LATER
