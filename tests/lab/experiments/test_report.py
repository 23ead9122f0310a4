"""The report: one page that holds all it shows."""

import dataclasses
import html.parser
import re

import numpy as np
import pytest

from rewardspec.lab.experiments import report as module
from rewardspec.lab.experiments.comparisons import SHOWN, compare
from rewardspec.lab.experiments.curves import curve_of, figure_of_all, to_svg
from rewardspec.lab.experiments.own_study import own_study
from rewardspec.lab.experiments.report import machine, plot, report
from rewardspec.lab.experiments.study import Reward
from rewardspec.lab.experiments.summaries import Summaries, summarize
from rewardspec.lab.experiments.table_layout import completion_table
from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.lab.tasks.measures import Measure
from rewardspec.spec.pairs import Pair
from rewardspec.spec.spec import Spec
from rewardspec.synthesis.quantitative.synthesize import synthesize
from tests.lab.experiments.synthetic import REWARDS, STUDY, cell_of, learning_cell, log_of, summary_of

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Nesting(html.parser.HTMLParser):
    """Checks that every element is closed in order, and collects attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.text = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "data", "srcset"):
                self.links.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        self.text.append(data)


def parsed(text):
    found = Nesting()
    found.feed(text)
    found.close()
    assert found.open == []
    return found


def words_of(page):
    """The text of a page, without its style."""
    return " ".join("".join(parsed(re.sub("<style>.*?</style>", "", page, flags=re.DOTALL)).text).split())


def quick_reward(task, reward):
    """A stand-in for `best`, whose choice and audit have tests of their own."""
    if reward != "best":
        return STUDY.reward(task, reward)
    return Reward(task.spec("quantitative", payment="delta"), None, "Pays <less> & knows more.")


QUICK = dataclasses.replace(STUDY, reward=quick_reward)


@pytest.fixture(scope="module")
def cells():
    tasks = ("frozen_lake", "acrobot")
    return [learning_cell(task, reward) for task in tasks for reward in REWARDS]


@pytest.fixture(scope="module")
def text(cells):
    curves = {(cell.task, cell.reward): curve_of(cell) for cell in cells}
    return report(Summaries(QUICK, map(summary_of, cells)), curves, to_svg(figure_of_all(QUICK, curves)))


@pytest.fixture(scope="module")
def seen(text):
    return parsed(text)


def test_elements_are_closed_in_order_and_ids_are_unique(seen):
    assert len(seen.ids) == len(set(seen.ids))
    assert seen.tags[:2] == ["html", "head"]


def test_nothing_is_loaded_from_elsewhere(seen, text):
    assert seen.links
    assert all(link.startswith("#") for link in seen.links)
    assert not {"script", "link", "iframe", "object", "img"} & set(seen.tags)
    assert not re.search(r"https?:|@import|url\((?!#)", text)


def test_every_link_leads_somewhere(seen):
    assert {link.removeprefix("#") for link in seen.links} <= set(seen.ids)


def test_every_reference_within_a_picture_is_resolved(seen, text):
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(seen.ids)


def test_the_contents_name_every_section_and_environment(seen):
    for name in (
        *STUDY.tasks,
        "results",
        "table",
        "curves",
        "convergence",
        "ends",
        "comparisons",
        "method",
        "configuration",
        "settings",
    ):
        assert name in seen.ids
        assert f"#{name}" in seen.links


def test_it_follows_the_readers_colours_and_screen(text):
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text
    style = text[text.index("<style>") : text.index("</style>")]
    defined = set(re.findall(r"(--[\w-]+):", style))
    assert set(re.findall(r"var\((--[\w-]+)\)", text)) <= defined


def test_pictures_have_no_colours_of_their_own(text):
    body = text[text.index("<body>") :]
    assert not re.search(r"#[0-9a-fA-F]{6}\b", body)


def test_it_shows_specs_machines_audit_settings_and_provenance(seen):
    said = " ".join(" ".join(seen.text).split())
    assert "F reach_goal" in said
    assert "Its machines" in said
    assert "Every optimal policy reaches the goal safely" in said
    assert "learning_rate" in said
    assert "rewardspec reproduce" in said
    assert "Linux, x86_64, 2 cores" in said
    assert "Trained on small budgets" in said
    assert "No results yet for 40 of 48 cells" in said


def test_only_finite_environments_are_audited(text):
    sections = {name: text[text.index(f'<section id="{name}">') :] for name in STUDY.tasks}
    sections = {name: part[: part.index("</section>")] for name, part in sections.items()}
    audited = {name for name, part in sections.items() if "What they ask for" in part}
    assert audited == {name for name, task in STUDY.tasks.items() if task.learner == "q-learning"}


def test_tables_have_lines_for_environments_with_results_alone(text):
    bodies = re.findall(r'<table class="(results|lines)">(.*?)</table>', text, flags=re.DOTALL)
    compared = [body for _, body in bodies if "Best − best of three" in body or "Task completion (%)" in body]
    assert len(compared) == 2
    for body in compared:
        assert all(
            (f">{task.title}<" in body) == (name in ("frozen_lake", "acrobot")) for name, task in STUDY.tasks.items()
        )


def test_without_curves_it_says_why(cells, monkeypatch):
    monkeypatch.setattr(module, "_verdicts", lambda study, task: iter(()))
    shown = parsed(report(Summaries(QUICK, map(summary_of, cells)), {}, None, "Drawing needs <matplotlib>."))
    assert "Drawing needs <matplotlib>." in "".join(shown.text)


def test_text_from_elsewhere_is_escaped(text):
    assert "Pays &lt;less&gt; &amp; knows more." in text


# Its parts.


def test_the_audit_names_what_cannot_be_solved(monkeypatch):
    audit_task = module.audit_task

    def too_large(task, rewards):
        return audit_task(task, rewards, max_nodes=10 if "best" in rewards else 200_000)

    monkeypatch.setattr(module, "audit_task", too_large)
    found = list(module._verdicts(QUICK, STUDY.tasks["frozen_lake"]))
    assert [(reward, bool(verdict)) for reward, verdict, _, _ in found] == [
        ("base", True),
        ("boolean", True),
        ("quantitative", True),
        ("best", False),
    ]
    assert "10" in found[-1][-1]


def test_a_machine_that_cannot_be_drawn_is_told():
    wide = " & ".join(f"F a{number}" for number in range(9))
    large = dataclasses.replace(STUDY, reward=lambda task, reward: Reward(Spec([Pair(wide, 1)])))
    card = module._card(large, STUDY.tasks["taxi"], "boolean", str)
    assert "too large to draw" in card["machines"][0]


def test_a_task_of_ones_own_has_a_page_without_a_paper(tmp_path):
    pairs = """["G up", 1],
        {formula = "F up", weight = 2, payment = "final"},
        {formula = "F(up & X F up)", weight = 3, progress = true}"""
    spec = f'observation = ["x", "v", "a", "w"]\natoms.up = "abs(a) < 0.1"\npairs = [{pairs}]'
    study = own_study("CartPole-v1", {"up": spec})
    cells = [
        dataclasses.replace(learning_cell("cart_pole", "base"), task="CartPole-v1", reward=name)
        for name in study.rewards
    ]
    summaries = Summaries(study, [summarize(cell, study) for cell in cells])
    curves = {(cell.task, cell.reward): curve_of(cell, share=False) for cell in cells}
    text = report(summaries, curves, to_svg(figure_of_all(study, curves)))
    seen = parsed(text)
    assert {link.removeprefix("#") for link in seen.links} <= set(seen.ids)
    assert len(seen.ids) == len(set(seen.ids))
    assert "paper</small>" not in text
    assert "G up" in "".join(seen.text)
    assert "paid by final" in "".join(seen.text)
    assert "paid for progress" in "".join(seen.text)
    assert "gymnasium.make('CartPole-v1')" in "".join(seen.text)
    assert "What they ask for" not in text


@pytest.mark.parametrize(("runs", "told"), [(1, False), (2, False), (3, True)])
def test_intervals_are_spoken_of_where_there_are_some(runs, told):
    spec = 'observation = ["x", "v", "a", "w"]\natoms.up = "abs(a) < 0.1"\npairs = [["G up", 1]]'
    study = own_study("CartPole-v1", {"up": spec}, measure="G up")
    cells = [
        dataclasses.replace(learning_cell("cart_pole", reward, runs=runs), task="CartPole-v1", reward=name)
        for name, reward in zip(study.rewards, REWARDS, strict=False)
    ]
    summaries = Summaries(study, [summarize(cell, study) for cell in cells])
    (found,) = compare(summaries, *study.contrasts)
    curves = {(cell.task, cell.reward): curve_of(cell) for cell in cells}
    page = report(summaries, curves, to_svg(figure_of_all(study, curves)))
    text = " ".join("".join(parsed(page).text).split())
    assert (found.standing == "too few runs") is not told
    assert ("Too few runs to tell whether that is more than chance" in text) is not told
    assert ("without an interval, for which there are too few runs" in text) is not told
    assert ("with the 95 % interval over runs" in text) is told
    assert ("cannot be told apart where that interval contains 0" in text) is told
    assert ("the band its 95 % interval" in text) is told
    assert ("where its interval lies above those of all others" in text) is told
    assert ("Its interval is the percentile bootstrap's" in text) is told
    assert ("with Student's t" in text) is told
    assert not re.search(r"\bnan\b", page)
    shown = text[text.index("Which reward is better Differences") :]
    assert SHOWN.get(found.standing, found.standing) in shown[: shown.index("In the end")]


@pytest.mark.parametrize(
    ("measure", "said", "axis"),
    [
        ("G !leans", "Success: the value of `G !leans` at the end of an episode.", "success: G !leans"),
        ("now leans", "Success: the mean of `now leans` over the steps of an episode.", "success: now leans"),
        ("leans", "Success: the last label of `leans` in an episode.", "success: leans"),
        (None, "Return: sum of the environment's own rewards.", "return"),
    ],
)
def test_it_says_what_success_is(measure, said, axis):
    spec = 'observation = ["x", "v", "a", "w"]\natoms.leans = "abs(a) > 0.1"\npairs = [["F leans", 1]]'
    study = own_study("CartPole-v1", {"leaning": spec}, measure=measure)
    cells = [
        dataclasses.replace(learning_cell("cart_pole", "base"), task="CartPole-v1", reward=name)
        for name in study.rewards
    ]
    summaries = Summaries(study, [summarize(cell, study) for cell in cells])
    assert completion_table(summaries).notes[0] == said
    curves = {(cell.task, cell.reward): curve_of(cell) for cell in cells}
    drawn = to_svg(figure_of_all(study, curves))
    assert f">{axis}<" in drawn
    page = report(summaries, curves, drawn)
    name, _, definition = said.replace("`", "").partition(": ")
    text = words_of(page)
    assert text.count(f"{name}: {definition}") == 2  # at the top and below the table
    method = text[text.index("How it was measured", text.index("What the rewards are")) :]
    assert definition[1:] in method[:200]
    assert "`" not in text
    assert "ask completion" not in text
    assert "2 of 2rewards" in text
    for word in ("cell", "paper", "onverge"):  # which are about other studies, or about nothing here
        assert word not in text, word


@pytest.mark.parametrize(("formula", "vetoes"), [("F goal", False), ("G !goal", True)])
def test_a_single_environment_is_shown_once(formula, vetoes):
    spec = f'atoms.goal = "next_obs == 15"\npairs = [["{formula}", 1]]'
    study = own_study("FrozenLake-v1", {"reach": spec})
    cells = [
        dataclasses.replace(learning_cell("frozen_lake", "base"), task="FrozenLake-v1", reward=name)
        for name in study.rewards
    ]
    curves = {(cell.task, cell.reward): curve_of(cell, share=False) for cell in cells}
    drawn = to_svg(figure_of_all(study, curves))
    assert ">Base<" in drawn  # as in the tables
    page = report(Summaries(study, [summarize(cell, study) for cell in cells]), curves, drawn)
    assert page.count('class="plot"') == 1
    text = words_of(page)
    assert "Environments" not in text
    assert "reach − Base" in text
    assert ("Unsafe" in text) is vetoes


def test_convergence_is_explained_where_there_is_some():
    spec = 'atoms.goal = "next_obs == 15"\npairs = [["F goal", 1]]'
    study = own_study("FrozenLake-v1", {"reach": spec}, measure="F goal")
    cells = [
        dataclasses.replace(cell_of(log_of([[1.0] * 250] * 3)), task="FrozenLake-v1", reward=name)
        for name in study.rewards
    ]
    text = words_of(report(Summaries(study, [summarize(cell, study) for cell in cells]), {}, None))
    assert "Rewards of episodes, averaged exponentially" in text
    assert "The test cannot hold before episode 192." in text
    assert "Converged at" in text
    assert "paper" not in text


def test_further_measures_have_columns_of_their_own(monkeypatch):
    monkeypatch.setattr(module, "_verdicts", lambda study, task: iter(()))
    lake = STUDY.tasks["frozen_lake"]
    lake = lake.replace(measures={**lake.measures, "quick_arrival": Measure(lambda obs: obs == 15)})
    study = dataclasses.replace(STUDY, tasks={"frozen_lake": lake})
    log = learning_cell("frozen_lake", "base").log
    columns = log.columns() | {"quick_arrival": np.full(len(log), 0.25)}
    cell = dataclasses.replace(learning_cell("frozen_lake", "base"), log=TrainingLog.from_columns(log.runs, columns))
    text = report(Summaries(study, [summarize(cell, study)]), {}, None)
    assert text.count("<h3>Quick arrival</h3>") == 1  # in the table of all tasks
    assert '<th scope="col" class="number">Quick arrival</th>' in text
    assert text.count("25.0 [25.0, 25.0]") == 3


def test_plots_keep_their_parts_apart():
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt"><g id="a"/><use href="#b"/><g id="b"/></svg>'
    )
    shown = plot(svg, "one", "Two < three")
    assert '<g id="one-b"/>' in shown
    assert 'href="#one-b"' in shown
    assert 'id="one-a"' not in shown
    assert "http" not in shown
    assert 'aria-label="Two &lt; three"' in shown


def test_machines_take_the_pages_colours():
    shown = machine(synthesize("F goal").to_svg())
    parsed(shown)
    assert "var(--m-fill)" in shown
    assert "http" not in shown
