"""The package as a whole: what an import costs, and which layer knows which."""

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rewardspec
from rewardspec.lab.tasks.environments import pendulum
from rewardspec.moved_modules import MOVED
from rewardspec.spec.toml_reading import loads_spec

ROOT = Path(rewardspec.__file__).parent
FOUNDATIONS = ("types", "errors", "renamed", "atomic_files", "environments", "moved_modules")
LIBRARY = (
    *("logic", "machines", "synthesis", "drawing", "spec", "export"),
    *("episodes", "transcripts", "pages", "finite", "wrappers", "jax", "torch", "pettingzoo", "audit", "cli"),
)
LAB = ("lab.tasks", "lab.learning", "lab.experiments", "lab.paper", "lab.cli")
LAYERS = (*FOUNDATIONS, *LIBRARY, *LAB)
FRONTS = ("", "lab")  # the `__init__` of the package and of the lab, which gather what stands below them
ELSEWHERE = {"__main__": "cli", "sb3": "wrappers"}  # modules outside the folder of their layer

# The imports that point upwards: methods that hand over to a layer that stands above their class, inside the method.
UPWARDS = {
    ("machines.drawable", "drawing"): "`to_svg` and its like: a machine draws itself",
    ("machines.monitor", "synthesis"): "`progress` and `from_json`: synthesized from the formula when asked for",
    ("machines.monitor", "export"): "`to_c`, `to_js`: a monitor writes itself as source",
    ("spec.spec", "export"): "`to_c`, `to_js`: so does a spec",
    ("spec.spec", "episodes"): "`explain`: a spec explains an episode",
    ("episodes.explanation", "pages"): "`to_html`: an explanation writes its page",
    ("lab.experiments.study", "lab.paper"): "`study_of`: results are read back by the name of their study",
}


def test_importing_needs_the_core_alone():
    code = "import sys, rewardspec; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "rewardspec" in loaded
    assert not {"jax", "torch", "matplotlib", "ray", "pandas", "stable_baselines3"} & set(loaded)


def test_every_public_name_exists_once():
    assert all(hasattr(rewardspec, name) for name in rewardspec.__all__)
    assert len(set(rewardspec.__all__)) == len(rewardspec.__all__)


def module_of(path: Path) -> str:
    """The name of a file's module inside the package, such as `spec.pairs`; that of a package is its folder's."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def layer_of(module: str) -> str:
    """The layer or the front that a module, by its name inside the package, belongs to."""
    if module in FRONTS:
        return module
    parts = module.split(".")
    name = ".".join(parts[:2]) if parts[0] == "lab" else parts[0]
    return ELSEWHERE.get(name, name)


def imports_of(tree: ast.AST, *, of_types: bool = False) -> Iterator[str]:
    """The modules of this package that a module imports, by their names inside it, also those inside functions.

    Imports for type checkers alone count with `of_types`: they are no dependency of what runs.
    """
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            pending.extend(node.orelse if not of_types else ast.iter_child_nodes(node))
            continue
        pending.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports should be absolute"
            named = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (_module_in(name.split(".")[1:]) for name in named if name.partition(".")[0] == "rewardspec")


def _module_in(parts: list[str]) -> str:
    """The longest beginning of a name that is a module."""
    while parts and not (ROOT.joinpath(*parts).is_dir() or ROOT.joinpath(*parts).with_suffix(".py").is_file()):
        parts = parts[:-1]
    return ".".join(parts)


def dependencies(*, of_types: bool = False) -> Iterator[tuple[str, str]]:
    """Every import within the package: the module, and the one that it imports."""
    for path in sorted(ROOT.rglob("*.py")):
        for imported in imports_of(ast.parse(path.read_text(encoding="utf-8")), of_types=of_types):
            yield module_of(path), imported


def test_imports_are_found_wherever_they_stand():
    tree = ast.parse(
        "from rewardspec import tasks, Spec\n"
        "import rewardspec.errors, numpy\n"
        "def method():\n    from rewardspec.lab import learning\n    from rewardspec.spec.pairs import Pair\n"
        "if TYPE_CHECKING:\n    from rewardspec.lab.tasks.task import Task\n"
    )
    seen = {"", "errors", "lab.learning", "spec.pairs"}
    assert set(imports_of(tree)) == seen
    assert set(imports_of(tree, of_types=True)) == {*seen, "lab.tasks.task"}


def test_each_layer_imports_only_those_above_it():
    # Only commands take names from the package's front, which imports everything else.
    order = {layer: k for k, layer in enumerate((*LAYERS, ""))} | {"cli": len(LAYERS) + 1, "lab.cli": len(LAYERS) + 2}
    found = [(own, layer_of(own), layer_of(other)) for own, other in dependencies() if layer_of(own) not in FRONTS]
    assert {layer for _, layer, _ in found} >= {*LIBRARY, *LAB}
    unknown = {layer for _, *layers in found for layer in layers} - order.keys()
    assert not unknown, "a new layer needs a place in LIBRARY or LAB"
    upwards = {(own, other) for own, layer, other in found if order[other] > order[layer]}
    assert upwards == set(UPWARDS)


def test_the_library_does_not_import_the_lab():
    in_lab = [(own, other) for own, other in dependencies(of_types=True) if f"{other}.".startswith("lab.")]
    assert {own for own, _ in in_lab if not f"{own}.".startswith("lab.")} <= {"", "cli"}, "but for the two fronts"


def test_no_module_of_the_library_loads_the_lab():
    modules = [module_of(path) for path in ROOT.rglob("*.py") if ROOT / "lab" not in path.parents]
    names = [f"rewardspec.{module}".rstrip(".") for module in modules if module != "__main__"]
    if importlib.util.find_spec("pettingzoo") is None:
        names = [name for name in names if not name.startswith("rewardspec.pettingzoo")]
    assert "rewardspec.sb3" in names
    assert "rewardspec.audit.grid_maps" in names
    code = f"import importlib, sys\nfor name in {names}: importlib.import_module(name)\n"
    code += "print('rewardspec.lab' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False"]


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("rewardspec.tasks", "rewardspec.lab.tasks"),
        ("rewardspec.tasks.task", "rewardspec.lab.tasks.task"),
        ("rewardspec.tasks.paper.taxi", "rewardspec.lab.tasks.environments.taxi"),
        ("rewardspec.lab.paper.tasks.taxi", "rewardspec.lab.tasks.environments.taxi"),
        ("rewardspec.tasks.label_functions", "rewardspec.spec.atoms.label_functions"),
        ("rewardspec.learning.settings", "rewardspec.lab.learning.settings"),
        ("rewardspec.experiments.paper.evaluation", "rewardspec.lab.paper.evaluation"),
    ],
)
def test_a_former_name_imports_the_same_module_with_a_warning(former, present):
    package, _, name = former.rpartition(".")
    code = (
        "import importlib, warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        f"    from {package} import {name} as one\n"
        f"    other = importlib.import_module({former!r})\n"
        f"assert one is other is importlib.import_module({present!r})\n"
        f"assert one.__spec__.name == {present!r}\n"
        "print(*{(warned.category.__name__, str(warned.message)) for warned in caught}, sep='\\n')"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = ("DeprecationWarning", f"{former} is now {present}. Import it from there.")
    assert str(expected) in ran.stdout.splitlines()


def test_a_spec_or_policy_file_that_names_a_former_module_is_read_without_a_warning():
    written = '[atoms]\nup = "rewardspec.tasks.paper.pendulum:upright"\n[[pairs]]\nformula = "F up"\nweight = 1\n'
    assert loads_spec(written).atom_functions == {"up": pendulum.upright}


def test_every_former_name_has_a_present_module():
    for present in MOVED.values():
        assert _module_in(present.split(".")[1:]) == present.partition(".")[2]


def test_a_misspelt_name_is_answered_with_the_right_one():
    with pytest.raises(AttributeError, match="Did you mean 'synthesize'"):
        _ = rewardspec.synthesise
    with pytest.raises(AttributeError, match="Did you mean 'wrappers'"):
        _ = rewardspec.wrapper


def test_type_checkers_see_what_is_loaded_later():
    tree = ast.parse(Path(rewardspec.__file__).read_text())
    guarded = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for branch in guarded for node in branch.body if isinstance(node, ast.ImportFrom)]
    found = {alias.name: node.module for node in imports for alias in node.names}
    assert {name: module for name, module in found.items() if name in rewardspec._NAMES} == rewardspec._NAMES
    modules = {name: f"{module}.{name}" for name, module in found.items() if name not in rewardspec._NAMES}
    assert modules == {**rewardspec._MODULES, "jax": "rewardspec.jax", "sb3": "rewardspec.sb3"}
    assert set(rewardspec.__all__) == {*rewardspec._NAMES, *rewardspec._MODULES}
