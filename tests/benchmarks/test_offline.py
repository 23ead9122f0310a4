"""`benchmarks/offline.py` unpacks wheels so that a bare Python finds them, and does not miss what is left out."""

import importlib
import os
import subprocess
import sys
import zipfile


def test_a_machine_finds_what_was_packed(tmp_path):
    offline = importlib.import_module("offline")
    folder, site = tmp_path / "wheels", tmp_path / "site"
    folder.mkdir()
    files = {
        "packed/__init__.py": "import pygame.locals\nfrom wandb import Run\nANSWER = 42\n",
        "packed/tests/big.py": "",
        "json/__init__.py": "raise ImportError('the machine has its own')\n",
    }
    with zipfile.ZipFile(folder / "packed-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    offline.unpack(folder, site)
    assert not (site / "packages" / "packed" / "tests").exists()
    code = "import json, packed; print(packed.ANSWER, packed.Run.__name__)"
    python = f"source {site}/environment.sh && {sys.executable} -S -c 'import sitecustomize; {code}'"
    ran = subprocess.run(["bash", "-c", python], env=os.environ, capture_output=True, text=True, check=True)
    assert ran.stdout == "42 Run\n"
    code = "import absent_from_everything"
    python = f"source {site}/environment.sh && {sys.executable} -S -c 'import sitecustomize; {code}'"
    ran = subprocess.run(["bash", "-c", python], env=os.environ, capture_output=True, text=True, check=False)
    assert "No module named 'absent_from_everything'" in ran.stderr
