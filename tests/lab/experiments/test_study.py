"""Studies: their jobs, and how a reward and a study are described."""

import dataclasses

import pytest

from rewardspec import evaluate, tasks
from rewardspec.errors import Error
from rewardspec.lab.experiments.own_study import measured_by, own_study
from rewardspec.lab.experiments.study import Reward, merged_description, own_reward, study_of
from rewardspec.lab.learning.settings import PPO, QLearning
from rewardspec.lab.paper.evaluation import paper_study

SPEC = 'observation = ["position", "speed"]\natoms.far = "position > 0.4"\npairs = [["F far", 1]]'


def test_everything_is_twelve_environments_with_four_rewards():
    jobs = paper_study().jobs()
    assert len({(job.task, job.reward) for job in jobs}) == 48
    assert len({job.key for job in jobs}) == len(jobs)


def test_tasks_and_rewards_can_be_chosen():
    jobs = paper_study().jobs(["frozen_lake", "taxi", "frozen_lake"], ["base", "boolean"], quick=True)
    found = [(job.task, job.reward) for job in jobs]
    assert found == [("frozen_lake", "base"), ("frozen_lake", "boolean"), ("taxi", "base"), ("taxi", "boolean")]
    with pytest.raises(Error, match=r"There is no reward 'bool'; known: base, boolean"):
        paper_study().jobs(rewards=["bool"])


def test_whatever_changes_the_reward_changes_the_jobs_name():
    task = tasks.get("frozen_lake")
    spec = task.spec("boolean")
    shaped = dataclasses.replace(spec.pairs[0], payment="potential")
    rewards = [
        own_reward(task, "base"),
        Reward(spec),
        Reward(spec, "registers"),
        Reward(spec.replace(payment="delta")),
        Reward(spec.replace(penalty=-3.0)),
        Reward(spec.replace(payment="potential")),
        Reward(spec.replace(payment="potential", discount=0.5)),
        Reward(spec.replace(pairs=spec.pairs[:1])),
        Reward(spec.replace(pairs=[shaped])),
        Reward(spec.replace(pairs=[shaped], discount=0.5)),
        Reward(spec, text="one text"),
        Reward(spec, text="another text"),
    ]
    described = [str(reward.describe()) for reward in rewards]
    assert len(set(described)) == len(described)
    assert Reward(spec, None, "one note").describe() == Reward(spec, None, "another").describe()


def test_results_from_another_source_are_kept_apart():
    ours, pooled = paper_study().jobs(quick=True), paper_study().jobs(quick=True, source="envpool")
    other = {one.task for one, two in zip(ours, pooled, strict=True) if one.key != two.key}
    assert other == {"lunar_lander", "bipedal_walker"}


def test_a_study_is_made_again_from_its_description():
    assert study_of(paper_study().description) is paper_study()
    own = own_study("MountainCarContinuous-v0", {"far": SPEC}, seeds=4, config={"total_steps": 4096})
    again = study_of(own.description)
    assert [job.key for job in again.jobs()] == [job.key for job in own.jobs()]
    assert list(again.rewards) == ["base", "far"]
    with pytest.raises(Error, match="There is no study 'thesis'"):
        study_of({"study": "thesis"})


def test_ones_own_study_takes_any_environment_and_any_spec():
    study = own_study("MountainCarContinuous-v0", {"far": SPEC, "near": SPEC}, seeds=4, config={"total_steps": 4096})
    jobs = study.jobs()
    assert [(job.task, job.reward, job.count) for job in jobs] == [
        ("MountainCarContinuous-v0", name, 4) for name in ("base", "far", "near")
    ]
    assert jobs[0].config == PPO.continuous(total_steps=4096, scale_actions=True)
    assert own_study("FrozenLake-v1", {}).jobs()[0].config == QLearning(max_steps=100)
    assert [contrast.name for contrast in study.contrasts] == ["far_and_base", "near_and_base", "near_and_far"]
    with pytest.raises(Error, match="nothing to compare"):
        own_study("CartPole-v1", {}, base=False)
    with pytest.raises(Error, match="cannot make 'CartPole-v9'"):
        own_study("CartPole-v9", {})


def test_specs_are_compared_with_each_other_where_there_are_few():
    def pairs(count, **options):
        study = own_study("MountainCar-v0", dict.fromkeys("abcd"[:count], SPEC), **options)
        return [contrast.name.replace("_and_", " ") for contrast in study.contrasts]

    assert pairs(3) == ["a base", "b base", "c base", "b a", "c a", "c b"]
    assert pairs(4) == ["a base", "b base", "c base", "d base"]
    assert pairs(3, base=False) == ["b a", "c a", "c b"]


@pytest.mark.parametrize(
    ("measure", "graded"), [("F near", True), ("near", True), ("F far", False), ("far", False), ("now near", False)]
)
def test_a_degree_is_said_to_be_no_share_of_episodes(measure, graded):
    spec = 'atoms.far = "next_obs[0] > 0.4"\natoms.near = "clip(next_obs[0], 0, 1)"\npairs = [["F far", 1]]'
    study = own_study("MountainCar-v0", {"spec": spec}, measure=measure)
    assert study.definition.endswith("it is a degree, in percent; not a share of episodes.") is graded


def test_another_text_of_a_spec_gives_its_results_another_name():
    one, two = (own_study("MountainCar-v0", {"far": SPEC.replace("0.4", limit)}) for limit in ("0.4", "0.3"))
    assert [a.key == b.key for a, b in zip(one.jobs(), two.jobs(), strict=True)] == [True, False]


def test_rules_are_measured_where_their_atoms_mean_the_same_in_all_specs():
    far = 'atoms.far = "next_obs[0] > 0.4"\n'
    near = 'atoms.far = "next_obs[0] > 0.1"\natoms.slow = "next_obs[1] < 0.1"\n'
    robust = 'semantics = "robustness"\natoms.left = "next_obs[0] < 0"\npairs = [["F left", 1]]'
    one = own_study("MountainCar-v0", {"a": far + 'pairs = [["F far", 1], ["F G true", -1]]'})
    assert list(one.rules.values()) == ["F far"]
    two = own_study(
        "MountainCar-v0",
        {"a": one.description["specs"]["a"], "b": near + 'pairs = [["G slow", 1], ["F far", 1]]', "c": robust},
    )
    assert list(two.rules.values()) == ["G slow"]  # of "F far" the reader could not tell whose it is
    assert not set(one.rules) & set(two.rules)
    assert list(study_of(two.description, show=True).rules) == list(two.rules)


def test_a_rule_of_another_threshold_is_another_measure():
    text = 'atoms.far = "next_obs[0] + 0.5"\npairs = [["F far", 1]]'
    texts = (text, f"threshold = 0.5\n{text}", f"threshold = 0.9\n{text}")
    names = {name for far in texts for name in own_study("MountainCar-v0", {"far": far}).rules}
    assert len(names) == 3


def test_a_measure_whose_atoms_mean_something_else_is_not_resumed():
    def described(limit, name="far", **options):
        return own_study("MountainCar-v0", {name: SPEC.replace("0.4", limit)}, **options).description

    old = described("0.4", measure="F far")
    merged = merged_description(old, described("0.4", "again", measure="F far"))
    assert list(merged["specs"]) == ["far", "again"]
    for name in ("far", "other"):
        with pytest.raises(Error, match="which the specs now define differently"):
            merged_description(old, described("0.3", name, measure="F far"))
    assert merged_description(described("0.4"), described("0.3"))["specs"]["far"] == SPEC.replace("0.4", "0.3")


def test_rules_are_shown_with_their_names_and_formulas():
    atoms = 'observation = ["x", "v"]\natoms.far = "x > 0.4"\natoms.near = "x < 0"\natoms.slow = "v < 0.01"\n'
    pair = '[[pairs]]\nname = "{}"\nformula = "{}"\nweight = 1\n'
    specs = {
        "a": atoms + pair.format("calm", "G slow") + pair.format("there", "F far") + '[[pairs]]\nformula = "F near"\n',
        "b": atoms + pair.format("calm", "now slow") + pair.format("arrives", "F far"),
    }
    specs["a"] += "weight = 1\n"
    rules = own_study("MountainCar-v0", specs).rules
    assert list(rules.values()) == ["calm (a): G slow", "there: F far", "F near", "calm (b): now slow"]


def test_a_rule_that_two_specs_write_differently_is_one_rule():
    plain = 'atoms.far = "next_obs[0] > 0.4"\npairs = [["F far", 1]]'
    named = """observation = ["x", "v"]
        atoms.far = { expression = "next_obs[0] > 0.4" }
        pairs = [{ name = "arrive", formula = "F far", weight = 2 }]"""
    alone = own_study("MountainCar-v0", {"plain": plain}).rules
    both = own_study("MountainCar-v0", {"plain": plain, "named": named}).rules
    assert list(both.values()) == ["arrive: F far"]
    assert list(both) == list(alone)  # so that results of the first spec are found again


def test_an_atom_measures_by_its_last_label():
    (success,) = measured_by(tasks.get("frozen_lake"), "reach_goal").measures.values()
    for labels, last in (([0, 0, 1], 1.0), ([1, 1, 0], 0.0), ([0.5], 0.5)):
        assert evaluate(success.formula, {"reach_goal": labels}) == last
    assert not success.mean


def test_a_spec_without_atoms_has_those_of_the_task():
    study = own_study("frozen-lake", {"reach": 'pairs = [["F reach_goal", 1]]'})
    assert set(study.tasks["frozen_lake"].specs["reach"].atoms) == {"reach_goal"}


def test_a_study_that_is_taken_up_again_may_have_further_specs_and_no_other_environment():
    one, two = own_study("CartPole-v1", {}), own_study("MountainCar-v0", {"far": SPEC})
    more = own_study("MountainCar-v0", {"near": SPEC})
    assert list(merged_description(two.description, more.description)["specs"]) == ["far", "near"]
    for old, new in ((one, two), (paper_study(), one)):
        with pytest.raises(Error, match="results of another study"):
            merged_description(old.description, new.description)


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_q_learning_counts_episodes_and_ppo_steps(name):
    task = tasks.get(name)
    unit = paper_study().jobs([name], ["base"])[0].unit
    assert unit == ("episodes" if task.learner == "q-learning" else "steps")
