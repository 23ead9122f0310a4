"""Pack the packages that the benchmarks on a device need, for a machine with JAX and a GPU but without internet.

    python benchmarks/offline.py pack build/offline --python 3.12     # here: downloads the wheels, 31 MB
    python benchmarks/offline.py unpack build/offline /tmp/site       # there
    source /tmp/site/environment.sh                                   # there, in the folder of this project

Then the scripts run there: `python benchmarks/hard_exploration.py --stage main --out results.jsonl`.

Packages that only draw, log or save checkpoints are not packed. Importing one of them gives an empty module.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path

WHEELS = """
    brax==0.14.2 craftax==1.6.1 gymnax==1.0.1 navix==0.7.4 xminigrid==0.9.3
    mujoco==4.0.0 mujoco-core==4.0.0 mujoco-mjx==3.17.0 gymnasium
    absl-py chex cloudpickle dataclasses-json dm-env docstring-parser etils farama-notifications filelock flax gast
    humanize jax-tqdm jaxopt jaxtyping jinja2 lark markdown-it-py markupsafe mdurl ml-collections msgpack optax pillow
    pyyaml rich six tensorboardX toolz tqdm trimesh typeguard typing-extensions tyro wadler-lindig
"""
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "any")
ABSENT = """
    aiofiles distrax flask flask_cors glfw imageio matplotlib OpenGL orbax pandas pygame rlax seaborn tensorstore
    treescope wandb
"""
LEFT_OUT = ("/tests/", "/test_data/", "/testdata/")

CUSTOMIZE = '''"""Adds the unpacked packages after those of the machine, and empty modules for what is absent."""

import importlib.abc
import importlib.machinery
import sys
import types

ABSENT = {absent}


class Empty(types.ModuleType):
    """A module whose attributes are empty classes."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {{}})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the absent packages, after all other finders."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in ABSENT else None

    def create_module(self, spec):
        return Empty(spec.name)

    def exec_module(self, module):
        pass


sys.path.append({site!r})
sys.meta_path.append(Finder())
'''
# XLA would try variants of every kernel when it compiles, which takes minutes.
ENVIRONMENT = """export PYTHONPATH={customize}:src:benchmarks PYTHONUNBUFFERED=1 MUJOCO_GL=disable
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 XLA_PYTHON_CLIENT_PREALLOCATE=false
export XLA_FLAGS="--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"
export JAX_COMPILATION_CACHE_DIR={cache}
"""


def pack(folder: Path, python: str) -> None:
    """Download the wheels, without what they require."""
    options = ["--no-deps", "--only-binary=:all:", "--python-version", python, "--dest", str(folder)]
    for platform in PLATFORMS:
        options += ["--platform", platform]
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *options, *WHEELS.split()], check=True)
    size = sum(wheel.stat().st_size for wheel in folder.glob("*.whl"))
    print(f"{len(WHEELS.split())} wheels, {size / 1e6:.0f} MB, in {folder}")


def unpack(folder: Path, site: Path) -> None:
    """Unpack the wheels, and write what a shell has to source."""
    packages, customize = site / "packages", site / "customize"
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if not any(part in name for part in LEFT_OUT)]
            archive.extractall(packages, names)
    customize.mkdir(parents=True, exist_ok=True)
    text = CUSTOMIZE.format(absent=set(ABSENT.split()), site=str(packages.resolve()))
    (customize / "sitecustomize.py").write_text(text, encoding="utf-8")
    text = ENVIRONMENT.format(customize=customize.resolve(), cache=(site / "cache").resolve())
    (site / "environment.sh").write_text(text, encoding="utf-8")
    print(f"source {site / 'environment.sh'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    packing = commands.add_parser("pack", help="download the wheels")
    packing.add_argument("folder", type=Path)
    packing.add_argument("--python", default="3.12", help="version of Python on the other machine")
    unpacking = commands.add_parser("unpack", help="unpack the wheels on the other machine")
    unpacking.add_argument("folder", type=Path)
    unpacking.add_argument("site", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "pack":
        pack(arguments.folder, arguments.python)
    else:
        unpack(arguments.folder, arguments.site)


if __name__ == "__main__":
    main()
