"""The documentation site: `make docs` builds it, with every warning an error."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import rewardspec

DOCS = Path(__file__).resolve().parent

project = "rewardspec"
author = "the rewardspec contributors"
copyright = author
version = release = rewardspec.__version__

autodoc_mock_imports = ["pettingzoo", "stable_baselines3", "torch"]  # extras that pages can be built without
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["results/_*", "scripts"]  # these are included by the page about results

# Pages.  Headings down to the third level can be linked to, and a link that leads nowhere is a warning.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "off"  # the notebook is shown with the outputs stored in it, which a test keeps true
nb_merge_streams = True
nb_mime_priority_overrides = [("*", "text/latex", None)]  # would load MathJax from elsewhere

# The API, from docstrings.  They are written with Markdown's backticks, which `_backticks` below makes literals.
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_default_options = {"members": True}
autodoc_class_signature = "mixed"
add_module_names = False
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True

# The look.  Nothing is loaded from anywhere else, so that the built site works without a network.
html_theme = "furo"
html_title = "rewardspec"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#5b3fa8", "color-brand-content": "#5b3fa8"},
    "dark_css_variables": {"color-brand-primary": "#b7a2f2", "color-brand-content": "#b7a2f2"},
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app: Any) -> None:
    """Register what follows."""
    app.connect("autodoc-process-docstring", _backticks)
    app.connect("source-read", _options)


def _backticks(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn Markdown's `code` into reStructuredText's ``code``."""
    text = re.sub(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)", r"``\1``", "\n".join(lines))
    lines[:] = re.sub(r"``(?=\w)(?<=\w``)", r"``\ ", text).split("\n")


def _options(app: Any, page: str, source: list[str]) -> None:
    """Add to the page of the command line every option of every command."""
    if page == "api/commands":
        options: str = runpy.run_path(str(DOCS / "scripts" / "commands.py"))["options"]()
        source[0] = source[0].replace("<!-- options -->\n", options)
