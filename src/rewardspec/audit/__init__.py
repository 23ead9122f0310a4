"""The audit: what a reward really asks for, found by solving a finite environment exactly."""

from rewardspec.audit.auditing import Finding, audit, audit_task, rewards_of
from rewardspec.audit.intent import Intent

__all__ = ["Finding", "Intent", "audit", "audit_task", "rewards_of"]
