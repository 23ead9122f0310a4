"""C and JavaScript give what the step in Python gives, and refuse what they should."""

import dataclasses
import json
import random
import re
import shutil
import subprocess

import pytest

import rewardspec as rs
from rewardspec.cli import main
from rewardspec.export.c_code import comment, enumerators, to_c
from rewardspec.export.js_code import to_js
from rewardspec.export.sources import Source
from rewardspec.machines.expressions import held, label
from rewardspec.machines.program import Program, Push, Step, Window
from tests.export import agreement

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc on this machine")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on this machine")
HELD_BOTH_WAYS = "Y(a | b) R (a U[1,6] b) U[1,71] O[1,71] a"  # its bounds read the least and the largest value held
ODD = ["a*/b", "/*", "??/", 'x"y', "</script>", "√", "__proto__", "\\", "a\\", "constructor", "a-b", "a b", "A b"]


@pytest.fixture(scope="module")
def cases():
    rng = random.Random(7)
    return [agreement.random_case(rng, number, 30) for number in range(16)]


def run_node(folder, module, script):
    (folder / "m.mjs").write_text(module, encoding="utf-8")
    (folder / "run.mjs").write_text(script, encoding="utf-8")
    done = subprocess.run(["node", "run.mjs"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_gcc
def test_c_is_python_bit_by_bit(cases, monkeypatch):
    monkeypatch.setattr(agreement, "FLAGS", [flag.replace("-O2", "-O1") for flag in agreement.FLAGS])
    assert agreement.differences(cases, agreement.rows_in_c(cases)) == []


@needs_node
def test_javascript_is_python_bit_by_bit(cases):
    assert agreement.differences(cases, agreement.rows_in_js(cases)) == []


@needs_gcc
@needs_node
def test_bounds_that_read_a_window_both_ways_are_python_bit_by_bit():
    case = agreement.case_of(random.Random(3), rs.synthesize(HELD_BOTH_WAYS), "m", 90)
    assert agreement.differences([case], agreement.rows_in_c([case])) == []
    assert agreement.differences([case], agreement.rows_in_js([case])) == []


@needs_gcc
@needs_node
def test_a_start_whose_value_is_infinite_is_not_paid_yet():
    """The change from the level 0, where 0 times the value would be NaN."""
    spec = rs.Spec([("WX G a", 1, False)], semantics="robustness", payment="delta")
    case = agreement.case_of(random.Random(3), spec, "m", 3)
    level = case.letters[1]["a"]
    for rows in (agreement.rows_in_c([case]), agreement.rows_in_js([case])):
        assert rows[0][0].tolist() == [0.0, 0.0, 0.0, agreement.np.inf, agreement.np.inf]
        assert rows[0][1, 0] == level != 0.0


def test_the_least_and_the_largest_value_of_a_window_are_two_variables():
    program = Program(
        ("a",), (), (), (Step((), (label("a"),), (Push(label("a")),)),), 0, (Window("delay", 3, "last", 0.0),)
    )
    source = Source("m", ("X[3] a",), program, lower=(held(0, True),), upper=(held(0, False),))
    for text, declared in (
        (to_c(source), r"const double (\w+) = m_l"),
        (to_js(source), r"const (\w+) = window0\.held"),
    ):
        names = re.findall(declared, text)
        assert len(set(names)) == len(names) == 2


def test_a_difference_is_found(cases):
    rows = [agreement.np.array(case.rows, dtype=float) for case in cases]
    assert agreement.differences(cases, rows) == []
    rows[3][5, 0] += 1e-9
    assert len(agreement.differences(cases, rows)) == 1


@needs_gcc
@pytest.mark.parametrize("text", ["true", "a & !a", "now H[0,3] a", "F[;0.5] a"])
def test_small_monitors_compile_without_a_warning(text, tmp_path):
    path = tmp_path / "small.c"
    path.write_text(rs.synthesize(text).to_c("small"), encoding="utf-8")
    command = ["gcc", *agreement.FLAGS, "-c", str(path), "-o", str(tmp_path / "small.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@needs_gcc
def test_odd_names_of_atoms_reach_neither_comments_nor_identifiers(tmp_path):
    formula = " & ".join(f"F {rs.Atom(name)}" for name in ODD)
    path = tmp_path / "odd.c"
    path.write_text(rs.Spec([(formula, 1), ("G safe", 1)]).to_c(), encoding="utf-8")
    command = ["gcc", *agreement.FLAGS, "-c", str(path), "-o", str(tmp_path / "odd.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@needs_gcc
def test_two_files_share_one_monitor_by_its_interface(tmp_path):
    (tmp_path / "m.c").write_text(rs.synthesize("F goal").to_c(), encoding="utf-8")
    (tmp_path / "main.c").write_text(
        '#define M_INTERFACE_ONLY\n#include "m.c"\n#include <stdio.h>\nint main(void)\n'
        "{ m_state s; const double labels[M_LABELS] = {0.5}; m_reset(&s);\n"
        'printf("%g %d", m_step(&s, labels), m_labels_ok(labels)); return 0; }\n'
    )
    built = tmp_path / "run"
    done = subprocess.run(
        ["gcc", *agreement.FLAGS, "main.c", "m.c", "-o", str(built)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert subprocess.run([str(built)], capture_output=True, text=True).stdout == "0.5 1"


def as_a_compiler_reads(text):
    """C's first two phases of translation: trigraphs, then lines that end in a backslash."""
    trigraphs = dict(zip("=/'()!<>-", "#\\^[]|{}~", strict=True))
    text = re.sub(r"\?\?([=/'()!<>-])", lambda found: trigraphs[found[1]], text)
    return re.sub(r"\\[ \t]*\n", "", text)


def test_no_text_ends_its_comment():
    rng = random.Random(0)
    alphabet = ["*", "/", "\\", "?", "\n", "\r", " ", "\t", "<", "!", "-", "\u2028", "é", "\0", "x"]
    hostile = ["".join(rng.choices(alphabet, (4, 4, 3, 3, 2, *[1] * 10), k=rng.randint(1, 9))) for _ in range(20_000)]
    for text in [*ODD, "*\\", "*\\\n/", "*??/\n/", "*???/", "???/", *hostile]:
        read = as_a_compiler_reads(f"/* {comment(text)} */\n * {comment(text)}\n")
        assert read.find("*/") == read.index("\n") - 2, text
        assert read.rfind("/*") == 0, text
        assert read.count("\n") == 2, text
        assert read.isascii()


@needs_gcc
@pytest.mark.parametrize(
    "name", ["*\\ hacked; /*", "*\\\n/ hacked; /*", "*??/\n/ hacked;", "*/ hacked; /*", "\u2028*/ hacked;"]
)
def test_hostile_names_add_no_code(name, tmp_path):
    monitor = rs.synthesize(f"G({rs.Atom(name)} -> F[0,3] b)")
    program = dataclasses.replace(
        monitor.program,
        registers=tuple(f"{name} {register}" for register in monitor.registers),
        windows=tuple(dataclasses.replace(w, name=f"{name} {w.name}") for w in monitor.program.windows),
    )
    hostile = rs.Monitor(monitor.formula, program)
    path = tmp_path / "m.c"
    path.write_text(hostile.to_c(), encoding="utf-8")
    command = ["gcc", "-std=c99", "-trigraphs", "-E", "-P", str(path)]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "m_step" in code
    assert "hacked" not in code
    module = hostile.to_js()
    assert all("hacked" not in line for line in module.splitlines() if '"' not in line and not line.startswith("//"))


def test_comments_and_enumerators_are_harmless():
    for name in ODD:
        text = comment(name)
        assert "*/" not in text
        assert "/*" not in text
        assert text.isascii()
        assert not text.endswith("\\")
    names = enumerators("M_", ODD)
    assert len(set(names)) == len(ODD)
    assert all(re.fullmatch(r"M_[A-Z0-9_]+", name) for name in names)


@needs_node
def test_a_module_is_pure_and_checks_labels(tmp_path):
    module = rs.synthesize("G(request -> F[0,3] grant)").to_js("guard")
    script = """
        import guard, { reset, step, bounds, progress, atoms } from "./m.mjs";
        const first = reset(), kept = JSON.stringify(first);
        const second = step(first, { request: 1, grant: false });
        const third = step(second, { request: 0, grant: 0.5 });
        const told = [];
        for (const labels of [{ request: 1 }, { request: 1, grant: 1.1 }, { request: NaN, grant: 0 }]) {
          try { step(first, labels); } catch (error) { told.push(`${error.name}: ${error.message}`); }
        }
        const near = step(first, { request: 1.0000001, grant: 0 }).value;
        console.log(JSON.stringify([atoms, second.value, third.value, bounds(third), progress(third),
          JSON.stringify(first) === kept, guard.step === step, near, told]));
    """
    found = run_node(tmp_path, module, script)
    assert found[:8] == [["request", "grant"], 0, 0.5, [0, 1], 0.5, True, True, 0]
    assert found[8] == [
        "RangeError: The label of grant should be a number in [0, 1]. Received undefined.",
        "RangeError: The label of grant should be a number in [0, 1]. Received 1.1.",
        "RangeError: The label of request should be a number in [0, 1]. Received NaN.",
    ]


@needs_node
def test_the_module_of_a_spec_starts_pays_and_vetoes(tmp_path):
    spec = rs.Spec([("F goal", 2), ("G safe", 1)], penalty=-1, payment="delta")
    script = """
        import { start, step, level, violated } from "./m.mjs";
        let state = start({ goal: 0, safe: 1 });
        const rewards = [];
        for (const labels of [{ goal: 0.5, safe: 0.75 }, { goal: 1, safe: 0 }]) {
          state = step(state, labels);
          rewards.push([state.reward, level(state), violated(state), state.values]);
        }
        console.log(JSON.stringify(rewards));
    """
    state, expected = spec.start({"goal": 0.0, "safe": 1.0}), []
    for labels in ({"goal": 0.5, "safe": 0.75}, {"goal": 1.0, "safe": 0.0}):
        state, reward = spec.step(state, labels)
        expected.append([reward, spec.level(state), spec.violated(state), list(spec.values(state))])
    assert run_node(tmp_path, spec.to_js(), script) == expected


@needs_node
def test_odd_names_reach_javascript_as_data(tmp_path):
    monitor = rs.synthesize(" & ".join(f"F {rs.Atom(name)}" for name in ODD))
    module = monitor.to_js()
    assert "</script>" not in module
    script = """
        import { reset, step, atoms } from "./m.mjs";
        const labels = Object.fromEntries(atoms.map((atom, k) => [atom, (k + 1) / 16]));
        console.log(JSON.stringify([atoms, step(reset(), labels).value]));
    """
    assert run_node(tmp_path, module, script) == [list(monitor.atoms), 1 / 16]


@pytest.mark.parametrize("name", ["", "1a", "_m", "a-b", "m;", "class", "é", "a" * 41, 7])
def test_a_name_is_an_identifier(name):
    monitor = rs.synthesize("F goal")
    for export in (monitor.to_c, monitor.to_js):
        with pytest.raises(rs.Error, match=r"identifiers.*Received"):
            export(name)


def test_a_module_has_names_of_its_own():
    with pytest.raises(rs.Error, match=r"none of the module's own names\. Received 'step'"):
        rs.synthesize("F goal").to_js("step")


def test_the_command_writes_what_the_methods_give(tmp_path, capsys):
    path = tmp_path / "my-guard.c"
    assert main(["export", "G(a -> F b)", "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == rs.synthesize("G(a -> F b)").to_c("my_guard")
    assert "Wrote" in capsys.readouterr().out
    spec = rs.Spec([("F goal", 1)])
    spec.save(tmp_path / "spec.toml")
    assert main(["export", str(tmp_path / "spec.toml"), "--to", "js", "--name", "m", "-o", str(tmp_path / "x")]) == 0
    assert (tmp_path / "x").read_text(encoding="utf-8") == spec.to_js()
    assert main(["export", "G a", "--semantics", "robustness", "-o", str(tmp_path / "r.js")]) == 0
    assert "finite" in (tmp_path / "r.js").read_text(encoding="utf-8")


def test_the_command_says_that_threshold_and_clip_stay_behind(tmp_path, capsys):
    path, output = tmp_path / "spec.toml", str(tmp_path / "x.c")
    rule = 'pairs = [["F goal", 1]]\n'
    path.write_text(f"threshold = 0.5\nclip = true\n{rule}")
    assert main(["export", str(path), "-o", output]) == 0
    told = capsys.readouterr().out
    assert "give the step 1 for a label of 0.5 or more, else 0" in told
    assert "clipped to [0, 1]" in told
    path.write_text(rule)
    assert main(["export", str(path), "-o", output]) == 0
    assert "behind" not in capsys.readouterr().out


def test_the_command_says_what_it_lacks(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["export", "G a", "-o", str(tmp_path / "guard")])
    assert "--to c or --to js?" in capsys.readouterr().err
    assert main(["export", "G (", "-o", str(tmp_path / "guard.c")]) == 2
