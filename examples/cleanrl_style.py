"""A PPO loop in one file, in the manner of CleanRL, on a wrapped vector environment: only the `envs = ` lines differ.

    pip install . torch
    python examples/cleanrl_style.py --total_timesteps 40000

The spec asks CartPole to keep the pole upright, and to be near the centre again whenever it has strayed.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, fields

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import rewardspec as rs


@dataclass
class Args:
    """What can be set from the command line."""

    seed: int = 1
    total_timesteps: int = 40_000
    learning_rate: float = 1e-3
    num_envs: int = 8
    num_steps: int = 128
    gamma: float = 0.98
    gae_lambda: float = 0.95
    num_minibatches: int = 4
    update_epochs: int = 4
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5


SPEC = rs.Spec(
    [("F G upright", 1), ("G(strayed -> F !strayed)", 0.5)],
    atoms={
        "upright": lambda obs, action, next_obs: np.clip(1.0 - abs(next_obs[..., 2]) / 0.2095, 0.0, 1.0),
        "strayed": lambda obs, action, next_obs: np.clip(abs(next_obs[..., 0]) / 2.4, 0.0, 1.0),
    },
)


def layer(inputs: int, outputs: int, std: float = 2**0.5) -> nn.Linear:
    """A linear layer with orthogonal weights."""
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, std)
    nn.init.zeros_(linear.bias)
    return linear


class Agent(nn.Module):
    """An actor and a critic, each with two hidden layers."""

    def __init__(self, envs: gym.vector.VectorEnv) -> None:
        super().__init__()
        size, actions = int(np.prod(envs.single_observation_space.shape)), int(envs.single_action_space.n)
        self.critic = nn.Sequential(layer(size, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, 1.0))
        self.actor = nn.Sequential(layer(size, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, actions, 0.01))

    def forward(self, x: torch.Tensor, action: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
        """Actions (drawn unless given), their log-probabilities, the policy's entropy, and the states' values."""
        policy = Categorical(logits=self.actor(x))
        action = policy.sample() if action is None else action
        return action, policy.log_prob(action), policy.entropy(), self.critic(x).squeeze(-1)


def train(args: Args) -> list[float]:
    """Train, and return the episodes' lengths in the order in which they ended."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    batch_size = args.num_envs * args.num_steps
    # SAME_STEP is the autoreset that such loops were written for: the observation after `done` is a new episode's.
    same_step = {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
    envs = gym.make_vec("CartPole-v1", args.num_envs, vectorization_mode="sync", vector_kwargs=same_step)
    envs = rs.wrappers.vector.MonitorReward(envs, SPEC)
    agent = Agent(envs)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)

    shape = (args.num_steps, args.num_envs)
    obs = torch.zeros((*shape, *envs.single_observation_space.shape))
    actions, logprobs, rewards, dones, values = (torch.zeros(shape) for _ in range(5))
    lengths, running = [], np.zeros(args.num_envs)
    next_obs = torch.as_tensor(envs.reset(seed=args.seed)[0])
    next_done = torch.zeros(args.num_envs)
    for _ in range(max(1, args.total_timesteps // batch_size)):
        for step in range(args.num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                action, logprobs[step], _, values[step] = agent(next_obs)
            actions[step] = action
            observation, reward, terminations, truncations, _ = envs.step(action.numpy())
            done = np.logical_or(terminations, truncations)
            rewards[step] = torch.as_tensor(reward)
            next_obs, next_done = torch.as_tensor(observation), torch.as_tensor(done, dtype=torch.float32)
            running += 1
            lengths.extend(running[done].tolist())
            running[done] = 0

        with torch.no_grad():
            next_value = agent.critic(next_obs).squeeze(-1)
        advantages, last = torch.zeros(shape), torch.zeros(args.num_envs)
        for t in reversed(range(args.num_steps)):
            going = 1.0 - (next_done if t == args.num_steps - 1 else dones[t + 1])
            after = next_value if t == args.num_steps - 1 else values[t + 1]
            delta = rewards[t] + args.gamma * after * going - values[t]
            advantages[t] = last = delta + args.gamma * args.gae_lambda * going * last
        returns = advantages + values

        flat = [x.reshape(batch_size, *x.shape[2:]) for x in (obs, actions, logprobs, advantages, returns)]
        for _ in range(args.update_epochs):
            for index in torch.randperm(batch_size).chunk(args.num_minibatches):
                b_obs, b_actions, b_logprobs, b_advantages, b_returns = (x[index] for x in flat)
                _, logprob, entropy, value = agent(b_obs, b_actions)
                ratio = (logprob - b_logprobs).exp()
                b_advantages = (b_advantages - b_advantages.mean()) / (b_advantages.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                policy_loss = -torch.min(b_advantages * ratio, b_advantages * clipped).mean()
                value_loss = 0.5 * ((value - b_returns) ** 2).mean()
                loss = policy_loss - args.ent_coef * entropy.mean() + args.vf_coef * value_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()
    envs.close()
    return lengths


def main(argv: list[str] | None = None) -> None:
    """Train, and print how long the first and the last episodes were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Args):
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    args = Args(**vars(parser.parse_args(argv)))
    start = time.perf_counter()
    lengths = train(args)
    seconds = time.perf_counter() - start
    print(f"{args.total_timesteps:,} steps in {seconds:.1f} s, {args.total_timesteps / seconds:,.0f} steps/s")
    print(f"episode length: {np.mean(lengths[:20]):.0f} at first, {np.mean(lengths[-20:]):.0f} at last")


if __name__ == "__main__":
    main()
