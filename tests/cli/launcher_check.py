#!/usr/bin/env python3
"""Checks that the launcher answers as the program does, and does not load libtorch for it.

usage: launcher_check.py LAUNCHER PROGRAM
"""
import subprocess
import sys

launcher, program = sys.argv[1:3]


def run(command, *arguments):
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


for arguments in (["--version"], ["--help"], ["quantize", "--help"], ["-h"], [], ["nonsense"],
                  ["inspect", "no/such/file.onnx"], ["quantize", "--help", "x"]):
    expected, found = run(program, *arguments), run(launcher, *arguments)
    assert found == expected, f"{arguments}: expected {expected}, found {found}"

loaded = subprocess.run(["ldd", launcher], capture_output=True, text=True, check=True).stdout
assert "torch" not in loaded, loaded
print("1 passed, 0 failed")
