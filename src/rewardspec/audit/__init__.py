"""The audit: what a reward really asks for, found by solving a finite environment exactly."""

from rewardspec.audit.auditing import AuditFinding, audit, audit_task, rewards_of
from rewardspec.audit.intent import Intent
from rewardspec.renamed import warn_renamed

__all__ = ["AuditFinding", "Intent", "audit", "audit_task", "rewards_of"]


def __getattr__(name: str) -> object:
    if name != "Finding":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_renamed("rewardspec.audit.Finding", "rewardspec.audit.AuditFinding")
    return AuditFinding
