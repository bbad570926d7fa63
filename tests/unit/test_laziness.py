"""What is heavy is not loaded before it is used."""

import subprocess
import sys


def test_the_application_starts_without_the_door_for_assistants() -> None:
    code = "import sys, reedbed.roles.app; sys.exit('mcp' in sys.modules or 'jsonschema' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
