"""Libraries that are loaded when they are used."""

from __future__ import annotations

import subprocess
import sys


def test_a_module_is_not_loaded_before_it_is_used():
    program = (
        "import sys; from caveat.late import Late; calendar = Late('calendar'); "
        "before = 'calendar' in sys.modules; days = calendar.monthrange(2026, 2)[1]; "
        "print(before, days, 'calendar' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "28", "True"]
