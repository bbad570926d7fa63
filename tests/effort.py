"""How long the tests that could go on for ever go on: 1 in `make test`, more in `make test-long`."""

import os

REPEAT_FACTOR = int(os.environ.get("TEST_EFFORT", "1"))
