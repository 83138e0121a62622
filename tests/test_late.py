"""Libraries that are loaded when they are used."""

from __future__ import annotations

import subprocess
import sys


def test_a_module_is_not_loaded_before_it_is_used():
    program = (
        "import sys; from caveat.registry import Late; colours = Late('colorsys'); "
        "before = 'colorsys' in sys.modules; light = colours.rgb_to_hls(1, 1, 1)[1]; "
        "print(before, light, 'colorsys' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "1.0", "True"], done.stderr
