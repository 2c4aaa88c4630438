"""`python -m explorable …` is the command `explorable`."""

import sys

from explorable.cli import main

sys.exit(main())
