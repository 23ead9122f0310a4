"""The audit: what a reward really asks for, found by solving a finite environment exactly."""
