"""`rewardspec check SPEC.toml`."""

import re
import sys

import pytest

from rewardspec.cli import main

GOOD = """
observation = ["x", "x_dot", "theta", "theta_dot"]
penalty = -1

[atoms]
near = "proximity(x, 0, 2.4)"
balanced = "proximity(theta, 0, 0.2095)"

[[pairs]]
name = "stay near"
formula = "F G near"
weight = 2

[[pairs]]
formula = "G balanced"
weight = 4
"""


@pytest.fixture
def check(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(text: str, *options: str) -> tuple[int, str, str]:
        (tmp_path / "spec.toml").write_text(text)
        status = main(["check", "spec.toml", *options])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_it_tells_what_a_person_wants_to_know(check):
    assert check(GOOD) == (
        0,
        "Spec        spec.toml\n"
        "Payment     value\n"
        "Atoms       near, balanced\n"
        "Pair 1      stay near: F G near\n"
        "            in words: at the last step: near\n"
        "            weight 2; mixed: neither safety nor goal, it can still turn either way\n"
        "Pair 2      G balanced\n"
        "            in words: at every step: balanced\n"
        "            weight 4; safety: asks only that something bad never happens, so it can veto a reward\n"
        "            safety objective: once violated, every step pays -1, whatever the other pairs are worth\n"
        "            with veto = false, a violation would cost what this pair pays, and no more\n"
        "Machine     1 register, 1 control state\n"
        "Found       nothing that looks wrong\n",
        "",
    )


def test_errors_are_told_with_reason_and_remedy_and_exit_1(check):
    status, out, err = check('pairs = [["F reach_goal", 10], ["G !reach_hole", -10], ["F G true", -1]]')
    assert (status, err) == (1, "")
    *_, error = out.split("Error       ")
    text = " ".join(error.split())
    assert text.startswith("[opposite-sign] Pair 2, `G !reach_hole`, is a safety formula of weight -10")
    assert "Pair('G !reach_hole', 0, veto=True, penalty=-10)" in text
    assert text.endswith("Found 1 error, 0 warnings")


def test_warnings_alone_exit_0(check):
    status, out, _ = check('pairs = [["F goal", 10], ["F G true", 1]]')
    assert status == 0
    assert "Warning     [constant] Pair 2" in out
    assert "Found       0 errors, 1 warning\n" in out


def test_an_undefined_atom_is_an_error_of_the_spec(check):
    status, out, _ = check(GOOD.replace("near =", "naer ="))
    assert status == 1
    assert "[undefined-atom]" in out
    assert "[unused-atom]" in out
    assert "Machine     1 register" in out


def test_a_machine_over_the_budget_is_said_to_be(check):
    status, out, _ = check("max_registers = 0\n" + GOOD)
    assert status == 1
    assert "Machine     refused: " in out
    assert "[too-large]" in out


def test_boolean_labels_are_mentioned(check):
    _, out, _ = check("threshold = 0.99\n" + GOOD)
    assert "Payment     value; labels from 0.99 on count as 1, others as 0\n" in out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("pairs = [", "error: spec.toml: This is not valid TOML"),
        ('paymet = "value"\npairs = []', "Did you mean 'payment'"),
        ('pairs = [["F (a", 1]]', "    F (a\n        ^\n"),
        ('payment = "never"\npairs = []', "`payment` should be one of"),
    ],
)
def test_a_file_that_cannot_be_read_exits_2(check, text, complaint):
    status, out, err = check(text)
    assert (status, out) == (2, "")
    assert complaint in err


def test_a_missing_file_exits_2(capsys):
    assert main(["check", "no_such_spec.toml"]) == 2
    assert "Cannot read the spec 'no_such_spec.toml': No such file" in capsys.readouterr().err


def test_atoms_may_be_in_a_module_beside_which_is_named_before_it_is_imported(check, tmp_path):
    (tmp_path / "atoms_beside.py").write_text("def goal(obs, action, next_obs):\n    return 1.0\nnear = goal\n")
    before = list(sys.path)
    text = 'atoms.goal = "atoms_beside:goal"\natoms.near = "atoms_beside:near"\npairs = [["F (goal & near)", 1]]'
    status, out, err = check(text)
    assert status == 0, out
    assert err == "Importing atoms_beside, which spec.toml names; --no-references refuses that.\n"
    assert sys.path == before


def test_references_can_be_refused(check, tmp_path):
    (tmp_path / "atoms_unseen.py").write_text("raise SystemExit('imported')")
    text = 'atoms.goal = "atoms_unseen:goal"\npairs = [["F goal", 1]]'
    status, _, err = check(text, "--no-references")
    assert status == 2
    assert err.startswith("error: spec.toml: In atom 'goal': it names the function 'atoms_unseen:goal'")
    assert "atoms_unseen" not in sys.modules
    assert main(["probe", "spec.toml", "--env", "CartPole-v1", "--no-references"]) == 2
    assert main(["draw", "spec.toml", "-o", "goal.svg"]) == 0  # which needs no atoms at all
    assert "atoms_unseen" not in sys.modules
    assert check('pairs = [["F goal", 1]]', "--no-references")[0] == 0


def test_comparisons_in_formulas_are_atoms_that_need_no_entry(check):
    text = 'observation = ["x", "v"]\npairs = [[\'G "abs(x) < 2.4"\', 1]]'
    status, out, _ = check(text, "--env", "CartPole-v1")
    assert (status, "nothing that looks wrong" in out) == (0, True)
    status, _, err = check(text.replace("(x)", "(y)") + '\natoms.v = "v"')
    assert status == 2
    assert "The atom 'abs(y) < 2.4' has no function, and cannot be read as a comparison: Unknown name 'y'" in err


def test_atoms_may_read_the_info_of_a_reset(check):
    lake = 'atoms.slips = "1 - info.prob"\npairs = [["G !slips", 1]]'
    status, out, _ = check(lake, "--env", "FrozenLake-v1")
    assert (status, "nothing that looks wrong" in out) == (0, True)
    status, _, err = check(lake.replace("prob", "probability"), "--env", "FrozenLake-v1")
    assert status == 2
    assert "the entry 'probability' of the info, which has the keys 'prob'" in err


# With an environment.


def test_an_environment_shows_what_is_violated_at_reset(check):
    moving = GOOD.replace('"proximity(theta, 0, 0.2095)"', '"abs(x - before.x) > 0"')
    assert check(moving)[0] == 0
    status, out, _ = check(moving, "--env", "CartPole-v1", "--resets", "5")
    assert status == 1
    assert "[violated-at-reset] Pair 2, `G balanced`, is violated at reset in 5 of 5 sampled" in out


def test_an_environment_in_which_all_is_well_at_reset(check):
    status, out, _ = check(GOOD, "--env", "CartPole-v1", "--resets", "5")
    assert status == 0
    assert "nothing that looks wrong" in out


@pytest.mark.parametrize("near", ["proximity(x, 0, 2.4)", "proximity(parcel, 0, 2.4)"], ids=["unread", "read"])
def test_a_component_that_the_environment_does_not_have_is_an_error(check, near):
    five = GOOD.replace('"theta_dot"]', '"theta_dot", "parcel"]').replace("proximity(x, 0, 2.4)", near)
    assert check(five)[0] == 0
    status, out, _ = check(five, "--env", "CartPole-v1")
    assert status == 1
    text = " ".join(out.split())
    assert (
        "Error [missing-component] The observation component 'parcel' cannot be read in CartPole-v1: it is number 4, "
        "from 0, of the observation, which has 4 numbers. Correct `observation` in the file"
    ) in text


def test_a_component_that_is_nested_the_wrong_way_round_is_told_with_the_right_one(check, tmp_path):
    lines = (
        "import gymnasium as gym, numpy as np",
        "class Reach(gym.Env):",
        "    action_space = gym.spaces.Discrete(2)",
    )
    box = "gym.spaces.Box(-1, 1, (3,))"
    lines += (f"    observation_space = gym.spaces.Dict(achieved_goal={box}, desired_goal={box})",)
    lines += ("    def reset(self, **kwargs): return self.observation_space.sample(), {}",)
    lines += ("    def step(self, action): return self.observation_space.sample(), 0.0, True, False, {}",)
    (tmp_path / "reaching.py").write_text("\n".join(lines))
    spec = (
        'observation = { x = { achieved_goal = 0 } }\natoms.near = "abs(x.achieved_goal) < 1"\npairs = [["F near", 1]]'
    )
    status, out, _ = check(spec, "--env", "reaching:Reach")
    assert status == 1
    assert "Did you mean achieved_goal = { x = 0 }?" in " ".join(out.split())
    right = spec.replace("{ x = { achieved_goal = 0 } }", "{ achieved_goal = { x = 0 } }")
    assert check(right.replace("x.achieved_goal", "achieved_goal.x"), "--env", "reaching:Reach")[0] == 0


def test_a_spec_without_pairs_is_an_error(check):
    status, out, _ = check("pairs = []")
    assert status == 1
    assert "Error       [no-pairs] The spec has no pairs" in out


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--env", "NoSuch-v0"), "cannot make 'NoSuch-v0'"),
        (("--env", "MiniGrid-NoSuch-v0"), "Name the module that registers it too: minigrid:MiniGrid-NoSuch-v0."),
        (("--env", "CartPole-v1", "--resets", "0"), "--resets should be at least 1"),
    ],
)
def test_an_environment_that_cannot_be_used_exits_2(check, options, complaint):
    status, _, err = check(GOOD, *options)
    assert status == 2
    assert complaint in err


def test_labels_outside_the_unit_interval_at_reset_exit_2(check):
    status, _, err = check(GOOD.replace('"proximity(x, 0, 2.4)"', '"x - 1"'), "--env", "CartPole-v1")
    assert status == 2
    assert "The label of 'near' at step 0 should be in [0, 1]" in err
    assert (
        "Scale it, for example with ramp, or have all labels clipped: Spec(…, clip=True), in a file clip = true." in err
    )


def test_labels_of_a_few_random_steps_are_checked(check):
    spec = GOOD.replace('"proximity(x, 0, 2.4)"', '"1 - abs(x_dot)"')  # the cart stands nearly still at reset
    status, _, err = check(spec, "--env", "CartPole-v1")
    assert status == 2
    assert re.search(r"The label of 'near' at step \d+ should be in \[0, 1\]", err)
    assert check(f"clip = true\n{spec}", "--env", "CartPole-v1")[0] == 0
    spec = GOOD.replace('"proximity(x, 0, 2.4)"', '{ expression = "info.far", at_reset = 0 }')
    status, _, err = check(spec, "--env", "CartPole-v1")
    assert status == 2
    assert "The atom 'near' cannot be read at step 1" in err


def test_an_environment_goes_with_a_spec(capsys):
    assert main(["check", "F goal", "--env", "CartPole-v1"]) == 2
    assert "--env goes with a spec file" in capsys.readouterr().err
    assert main(["check", "F goal", "--observe", "registers"]) == 2
    assert "--observe goes with a spec file" in capsys.readouterr().err


def test_help_tells_the_exit_status(capsys):
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    out = capsys.readouterr().out
    assert "rewardspec check spec.toml" in out
    assert "1 when a spec has errors" in out


IN_TIME = """
observation = ["x", "x_dot", "theta", "theta_dot"]

[atoms]
left = "x < -0.5"
right = "x > 0.5"

[[pairs]]
formula = "G(left -> F[0,600] right)"
weight = 1
"""


def test_windows_are_counted_and_bounds_compared_with_the_environments_limit(check):
    status, out, _ = check(IN_TIME, "--env", "CartPole-v1", "--resets", "2", "--observe", "nothing")
    assert status == 0
    assert "Machine     1 register, 1 window, 1 control state" in out
    assert "[bound-past-limit]" in out
    assert "[unseen-window]" in out
    assert "[bound-past-limit]" not in check(IN_TIME)[1]


def test_each_pair_is_said_in_words(check):
    out = check(IN_TIME)[1]
    assert (
        "G(left -> F[0,600] right)\n            in words: at every step: if left then within 600 steps: right\n" in out
    )
    long = " & ".join(f"F a{k}" for k in range(30))
    assert "in words" not in check(f'pairs = [["{long}", 1]]')[1]


@pytest.mark.parametrize(
    ("resets", "read"), [("1", "first state of 1 reset and 20"), ("2", "first states of 2 resets and 20")]
)
def test_what_was_read_of_the_environment_is_told(check, resets, read):
    out = check(IN_TIME, "--env", "CartPole-v1", "--resets", resets)[1]
    assert f"Environment CartPole-v1: {read} random steps read\n" in out
    assert "Environment" not in check(IN_TIME)[1]


@pytest.mark.parametrize(
    ("payment", "effect"),
    [
        ("value", "every step pays -1"),
        ("delta", "what was paid by delta is taken back, down to -1"),
        ("potential", "the level of all pairs together is -1"),
        ("final", "the episode pays -1 at its end"),
    ],
)
def test_what_a_violation_does_depends_on_the_payment(check, payment, effect):
    status, printed = check(f'payment = "{payment}"\npenalty = -1\npairs = [["G safe", 1], ["F goal", 2]]')[:2]
    assert status == 0
    assert effect in printed


def test_a_pair_without_veto_is_not_said_to_veto(check):
    status, printed = check('[[pairs]]\nformula = "G calm"\nweight = 1\nveto = false')[:2]
    assert status == 0
    assert "veto a reward" not in printed
    assert "a violation costs what this pair pays, and no more" in printed


def test_lint_knows_that_a_threshold_makes_labels_boolean(check):
    text = 'observation = ["x"]\natoms.a = "clip(x, 0, 1)"\npairs = [["G F[0,20] a", 1]]\n'
    assert "[unseen-window]" in check(text, "--observe", "registers")[1]
    assert "[unseen-window]" not in check(f"threshold = 0.5\n{text}", "--observe", "registers")[1]
