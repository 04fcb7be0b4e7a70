#!/usr/bin/env python3
"""Checks that the launcher answers as the program does, and does not load libtorch for it.

usage: launcher_check.py LAUNCHER PROGRAM
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

launcher, program = sys.argv[1:3]


def run(command, *arguments):
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


for arguments in (["--version"], ["-V"], ["--help"], ["-h"], ["help"], ["quantize", "--help"],
                  ["quantize", "-h"], ["help", "quantize"], ["help", "nonsense"], ["help", ""],
                  ["help", "run", "x"], ["inspect", "help"], ["help", "help"], ["help", "--version"], [], ["nonsense"],
                  ["inspect", "no/such/file.onnx"], ["quantize", "--help", "x"]):
    expected, found = run(program, *arguments), run(launcher, *arguments)
    assert found == expected, f"{arguments}: expected {expected}, found {found}"

# The answers below do not come from the program, which is not there.
alone = pathlib.Path(tempfile.mkdtemp()) / "sparsebit"
shutil.copy(launcher, alone)
for arguments in (["-V"], ["-h"], ["help"], ["run", "-h"], ["help", "run"]):
    expected, found = run(program, *arguments), run(str(alone), *arguments)
    assert found == expected, f"{arguments}, alone: expected {expected}, found {found}"
shutil.rmtree(alone.parent)

loaded = subprocess.run(["ldd", launcher], capture_output=True, text=True, check=True).stdout
assert "torch" not in loaded, loaded
print("1 passed, 0 failed")
