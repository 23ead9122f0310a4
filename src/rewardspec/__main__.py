"""`python -m rewardspec`."""

import sys

from rewardspec.cli import main

sys.exit(main())
