"""What `import memory_plugin` brings with it."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_face_brings_no_host_no_runtime_and_no_database():
    program = (
        "import sys, memory_plugin; "
        "print([one for one in ('onnxruntime', 'tokenizers', 'onnx', 'typer', 'rich', 'sqlite3',"
        " 'django', 'twisted', 'evennia', 'discord') if one in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
