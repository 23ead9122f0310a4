import dataclasses

import numpy as np
import pytest

import rewardspec as rs
from rewardspec import tasks
from rewardspec.lab.learning import ppo
from rewardspec.lab.learning.networks import forward, initial_parameters
from rewardspec.lab.learning.ppo import learn_actors
from rewardspec.lab.learning.ppo_update import compiled_update, surrogate_loss
from rewardspec.lab.learning.settings import PPO

SMALL = PPO.discrete(total_steps=2_048, rollout_steps=64)


def columns(log):
    return {name: column for name, column in log.columns().items() if name != "seconds"}


def test_the_papers_settings():
    assert PPO.discrete() == PPO(
        total_steps=500_000, rollout_steps=128, envs=4, learning_rate=2.5e-4, minibatches=4, epochs=4
    )
    continuous = PPO.continuous()
    assert (continuous.total_steps, continuous.rollout_steps, continuous.envs) == (1_000_000, 2048, 1)
    assert (continuous.minibatches, continuous.epochs, continuous.entropy_coefficient) == (32, 10, 0.0)


@pytest.mark.parametrize("name", ["cart_pole", "pendulum"])
def test_the_same_seeds_give_the_same_log_and_networks(name):
    task = tasks.get(name)
    spec = task.spec("quantitative")
    config = SMALL if name == "cart_pole" else PPO.continuous(total_steps=1_024, rollout_steps=256, minibatches=4)
    (log, arrays), (again, same) = (learn_actors(task, spec, "registers", config, [3, 4]) for _ in range(2))
    for key, column in columns(log).items():
        np.testing.assert_array_equal(column, columns(again)[key])
    for key, array in arrays.items():
        np.testing.assert_array_equal(array, same[key])


def test_a_run_starts_the_same_whichever_runs_it_is_trained_beside():
    task = tasks.get("cart_pole")
    config = dataclasses.replace(SMALL, total_steps=256)  # one update: later, rounding makes them drift apart
    together, _ = learn_actors(task, None, None, config, [7, 9])
    alone, _ = learn_actors(task, None, None, config, [9])
    rows = together.episodes_of(1)
    np.testing.assert_array_equal(together.length[rows], alone.length)
    np.testing.assert_array_equal(together.end_step[rows], alone.end_step)


def test_networks_start_orthogonal():
    parameters = initial_parameters([0, 1], 6, 3, continuous=True)
    for head, gain in (("actor", 0.01), ("critic", 1.0)):
        for k, scale in enumerate((np.sqrt(2), np.sqrt(2), gain)):
            for weights in parameters[head][f"w{k}"]:
                short = min(weights.shape)
                product = weights.T @ weights if weights.shape[1] == short else weights @ weights.T
                np.testing.assert_allclose(product, scale**2 * np.eye(short), atol=1e-5)
    assert not np.array_equal(parameters["actor"]["w0"][0], parameters["actor"]["w0"][1])
    assert not parameters["log_std"].any()


def test_stacked_runs_and_single_runs_compute_the_same():
    parameters = initial_parameters([0, 1, 2], 5, 2, continuous=False)
    obs = np.random.default_rng(0).normal(size=(3, 7, 5)).astype(np.float32)
    stacked = forward(parameters["actor"], obs, np)
    for run in range(3):
        head = {name: array[run] for name, array in parameters["actor"].items()}
        np.testing.assert_allclose(forward(head, obs[run], np), stacked[run], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("continuous", [False, True])
def test_an_update_is_what_torch_makes_of_the_same_rollout(continuous, bootstrap):
    """One minibatch, four epochs, long steps: losses and gradients written out a second time, by other means."""
    torch = pytest.importorskip("torch")
    import jax

    config = PPO(total_steps=40, rollout_steps=20, envs=2, minibatches=1, epochs=4, entropy_coefficient=0.03)
    config = dataclasses.replace(config, bootstrap_truncated=bootstrap)
    rng = np.random.default_rng(1)
    chosen = rng.normal(size=(1, 20, 2, 3)).astype(np.float32) if continuous else rng.integers(3, size=(1, 20, 2))
    rollout = {
        "obs": rng.normal(size=(1, 20, 2, 4)).astype(np.float32),
        "actions": chosen,
        "rewards": rng.normal(size=(1, 20, 2)).astype(np.float32),
        "dones": (rng.random((1, 20, 2)) < 0.2).astype(np.float32),
        "next_obs": rng.normal(size=(1, 2, 4)).astype(np.float32),
    }
    rollout["truncated"] = rollout["dones"] * (rng.random((1, 20, 2)) < 0.5).astype(np.float32)
    rollout["last_obs"] = rng.normal(size=(1, 20, 2, 4)).astype(np.float32)
    before = initial_parameters([5], 4, 3, continuous=continuous)
    if continuous:
        before["log_std"] += np.float32([0.3, -0.2, 0.1])
    before_log_std = before["log_std"][0].copy() if continuous else None
    weights = {
        head: {name: torch.tensor(array[0], requires_grad=True) for name, array in before[head].items()}
        for head in ("actor", "critic")
    }
    initial_memory, update = compiled_update(config, continuous=continuous)
    keys = jax.vmap(jax.random.key)(np.array([0], dtype=np.uint32))
    after, _, figures = update(before, initial_memory(before), np.float32(0.02), keys, rollout)

    obs = torch.tensor(rollout["obs"][0])
    with torch.no_grad():
        old_values = forward(weights["critic"], obs, torch)[..., 0]
        next_value = forward(weights["critic"], torch.tensor(rollout["next_obs"][0]), torch)[..., 0]
        advantages, advantage = torch.zeros(20, 2), torch.zeros(2)
        for t in reversed(range(20)):
            goes_on = 1 - torch.tensor(rollout["dones"][0, t])
            later = next_value if t == 19 else old_values[t + 1]
            if bootstrap:  # the episode goes on after all, from where it was cut off
                last = forward(weights["critic"], torch.tensor(rollout["last_obs"][0, t]), torch)[..., 0]
                cut = torch.tensor(rollout["truncated"][0, t])
                later = cut * last + (1 - cut) * later
                worth = torch.maximum(goes_on, cut)
            else:
                worth = goes_on
            difference = torch.tensor(rollout["rewards"][0, t]) + 0.99 * later * worth - old_values[t]
            advantage = difference + 0.99 * 0.95 * goes_on * advantage
            advantages[t] = advantage
    targets = advantages + old_values
    normalized = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    actions = torch.tensor(rollout["actions"][0])
    if continuous:
        weights["spread"] = {"log_std": torch.tensor(before_log_std, requires_grad=True)}
    flat = [tensor for head in weights.values() for tensor in head.values()]
    optimizer = torch.optim.Adam(flat, lr=0.02, eps=1e-5)
    old_log_probability = None
    for _ in range(4):
        outputs = forward(weights["actor"], obs, torch)
        if continuous:
            normal = torch.distributions.Normal(outputs, weights["spread"]["log_std"].exp())
            log_probability, entropy = normal.log_prob(actions).sum(-1), normal.entropy().sum(-1).mean()
        else:
            policy = torch.distributions.Categorical(logits=outputs)
            log_probability, entropy = policy.log_prob(actions), policy.entropy().mean()
        old_log_probability = log_probability.detach() if old_log_probability is None else old_log_probability
        ratio = torch.exp(log_probability - old_log_probability)
        surrogate = torch.min(normalized * ratio, normalized * ratio.clamp(0.8, 1.2)).mean()
        values = forward(weights["critic"], obs, torch)[..., 0]
        near = old_values + (values - old_values).clamp(-0.2, 0.2)
        error = torch.max((values - targets) ** 2, (near - targets) ** 2).mean()
        optimizer.zero_grad()
        (-surrogate - 0.03 * entropy + 0.5 * 0.5 * error).backward()
        torch.nn.utils.clip_grad_norm_(flat, 0.5)
        optimizer.step()

    assert float(figures["clipped_share"][0]) > 0.2  # so that clipping has been compared as well
    assert float(figures["entropy"][0]) == pytest.approx(entropy.item(), rel=1e-4)
    after = {**after, "spread": {"log_std": after.get("log_std")}}
    for head, tensors in weights.items():
        for name, tensor in tensors.items():
            np.testing.assert_allclose(after[head][name][0], tensor.detach().numpy(), rtol=1e-3, atol=2e-5)


def torch_loss(torch, weights, batch, config):
    """The clipped loss of PPO as its paper writes it, with the minimum over the two surrogates."""
    outputs = forward(weights["actor"], batch["obs"], torch)
    policy = torch.distributions.Categorical(logits=outputs)
    ratio = torch.exp(policy.log_prob(batch["actions"]) - batch["log_probability"])
    clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
    surrogate = torch.min(batch["advantage"] * ratio, batch["advantage"] * clipped).mean()
    value = forward(weights["critic"], batch["obs"], torch)[..., 0]
    near = batch["value"] + (value - batch["value"]).clamp(-config.clip, config.clip)
    errors = torch.max((value - batch["target"]) ** 2, (near - batch["target"]) ** 2)
    return -surrogate + config.value_coefficient * 0.5 * errors.mean(), ratio


# Where ratio and value stand, in widths of the clipping range, and where advantage and target pull them.
RATIOS = (-2.5, -0.5, 0.5, 2.5)
CLIPPED_CASES = [
    (ratio, advantage, value, target)
    for ratio in RATIOS
    for advantage in (-1.0, 1.0)
    for value in RATIOS
    for target in (-4.0, 4.0)
]


def clipping_batch(config):
    """One sample for every case, and the parameters it is about."""
    rng = np.random.default_rng(2)
    parameters = initial_parameters([5], 4, 3, continuous=False)
    parameters["actor"]["w2"] *= 100  # so that probabilities differ
    head = {name: {key: array[0] for key, array in parameters[name].items()} for name in parameters}
    ratio, advantage, value, target = np.array(CLIPPED_CASES, dtype=np.float32).T
    obs = rng.normal(size=(len(ratio), 4)).astype(np.float32)
    actions = rng.integers(3, size=len(ratio))
    logits = forward(head["actor"], obs, np)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    values = forward(head["critic"], obs, np)[:, 0]
    old = values - config.clip * value
    batch = {
        "obs": obs,
        "actions": actions,
        "log_probability": logs[np.arange(len(ratio)), actions] - np.log1p(config.clip * ratio),
        "value": old,
        "advantage": advantage,
        "target": old + config.clip * target,
    }
    return head, {name: np.asarray(column) for name, column in batch.items()}


def test_clipping_is_what_torch_makes_of_ratios_and_values_beyond_it_on_both_sides():
    torch = pytest.importorskip("torch")
    import jax

    config = PPO(clip=0.3, normalize_advantages=False, entropy_coefficient=0.0)
    head, batch = clipping_batch(config)
    (loss, figures), gradient = jax.value_and_grad(surrogate_loss, has_aux=True)(head, batch, config, continuous=False)
    weights = {
        name: {key: torch.tensor(array, requires_grad=True) for key, array in layers.items()}
        for name, layers in head.items()
    }
    theirs, ratio = torch_loss(torch, weights, {name: torch.tensor(c) for name, c in batch.items()}, config)
    theirs.backward()
    beyond = (ratio.detach().numpy() - 1) / config.clip
    np.testing.assert_allclose(beyond, [case[0] for case in CLIPPED_CASES], atol=1e-3)
    assert float(figures["clipped_share"]) == 0.5
    assert float(loss) == pytest.approx(theirs.item(), rel=1e-5)
    for name, layers in weights.items():
        for key, tensor in layers.items():
            np.testing.assert_allclose(gradient[name][key], tensor.grad.numpy(), rtol=1e-3, atol=1e-6)


def test_a_sample_that_is_clipped_pulls_no_more_and_any_other_does():
    """The pessimistic bound by cases: past the range, only a move back towards it has a gradient."""
    import jax

    config = PPO(clip=0.3, normalize_advantages=False, entropy_coefficient=0.0)
    head, batch = clipping_batch(config)
    alone = {name: column[:, None] for name, column in batch.items()}  # minibatches of one sample each

    def loss(parameters, sample):
        return surrogate_loss(parameters, sample, config, continuous=False)[0]

    gradient = jax.vmap(jax.grad(loss), in_axes=(None, 0))(head, alone)
    for case, (ratio, advantage, value, target) in enumerate(CLIPPED_CASES):
        pulls = {name: any(np.any(array[case]) for array in gradient[name].values()) for name in head}
        assert pulls["actor"] == (abs(ratio) < 1 or (ratio > 0) != (advantage > 0))
        assert pulls["critic"] == (abs(value) < 1 or (value > 0) != (target > 0))


def test_the_environments_are_closed_however_training_ends(monkeypatch):
    closed = []
    make = ppo.make_batch

    def watched(*arguments):
        batch = make(*arguments)
        monkeypatch.setattr(batch, "close", lambda: closed.append(batch))
        return batch

    def interrupt(done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr(ppo, "make_batch", watched)
    task, config = tasks.get("cart_pole"), PPO.discrete(total_steps=512)
    learn_actors(task, None, None, config, [0])
    with pytest.raises(KeyboardInterrupt):
        learn_actors(task, None, None, config, [0], interrupt)
    assert len(closed) == 2


def test_it_learns_to_balance_a_pole():
    plain = dataclasses.replace(tasks.get("cart_pole"), base_bonus=None)
    log, _ = learn_actors(plain, None, None, PPO.discrete(total_steps=60_000), range(4))
    late = log.end_step > 50_000
    assert log.base_reward[~late & (log.end_step < 10_000)].mean() < 60
    assert log.base_reward[late].mean() > 100


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"envs": 0}, "`envs` should be at least 1"),
        ({"minibatches": 7}, "cannot be divided into 7"),
        (
            {"total_steps": 100},
            r"at least one rollout of 512 steps \(4 envs × 128 rollout_steps\).* --set rollout_steps=…",
        ),
        ({"discount": 1.5}, "`discount` should be in the interval"),
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong, message):
    with pytest.raises(rs.Error, match=message):
        PPO(**wrong)
