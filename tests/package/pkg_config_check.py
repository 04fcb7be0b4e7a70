#!/usr/bin/env python3
"""Compiles and runs a program with the flags that pkg-config gives and no others.

usage: pkg_config_check.py COMPILER FOLDER_OF_PC_FILE PROGRAM.cpp MODEL.onnx
"""

import os
import pathlib
import subprocess
import sys
import tempfile


def main() -> int:
    compiler, folder, source, model = sys.argv[1:]
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "sparsebit"], text=True, check=True,
                           env={**os.environ, "PKG_CONFIG_PATH": folder},
                           stdout=subprocess.PIPE).stdout.split()
    with tempfile.TemporaryDirectory() as work:
        program, out = pathlib.Path(work, "program"), pathlib.Path(work, "out.onnx")
        subprocess.run([compiler, source, "-o", program, *flags], check=True)
        # Random numbers for data: what is tested is that it links with all it needs.
        run = subprocess.run([program, model, "", out], text=True, stdout=subprocess.PIPE)
        print(run.stdout)
        good = "int8 coverage: 100 % of MACs" in run.stdout and out.exists()
    print("pkg-config: ok" if good else "the program did not quantize the model")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
