"""`python -m ironlaw`: the engine's command line."""

import sys

from ironlaw.cli import main

sys.exit(main())
