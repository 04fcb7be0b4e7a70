#!/usr/bin/env python3
"""Compiles every installed header alone, with the flags that pkg-config gives and no others.

ATen takes most of the time of a header, so it is compiled once and included before each; that no
header forgets ATen itself is seen by `make separate`. One file without it shows that the flags
suffice for ATen, too.

usage: headers_check.py COMPILER FOLDER_OF_PC_FILE INCLUDE_FOLDER
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile


def main() -> int:
    compiler, folder, include = sys.argv[1:]
    flags = subprocess.run(["pkg-config", "--cflags", "sparsebit"], text=True, check=True,
                           env={**os.environ, "PKG_CONFIG_PATH": folder},
                           stdout=subprocess.PIPE).stdout.split()
    headers = sorted(h.relative_to(include).as_posix()
                     for h in pathlib.Path(include, "sparsebit").rglob("*.h"))
    assert len(headers) > 100, headers

    with tempfile.TemporaryDirectory() as work:
        aten = pathlib.Path(work, "aten.h")
        aten.write_text("#include <ATen/ATen.h>\n")
        subprocess.run([compiler, *flags, "-x", "c++-header", aten, "-o", f"{aten}.gch"], check=True)

        def compile_alone(header: str) -> str:
            before = [] if header == "sparsebit/quant/quant_model.h" else ["-include", aten]
            done = subprocess.run(
                [compiler, *flags, "-Wall", "-Wextra", "-fsyntax-only", *before, "-x", "c++", "-"],
                input=f"#include <{header}>\n#include <{header}>\n", text=True,
                stderr=subprocess.PIPE)
            return f"{header}:\n{done.stderr}" if done.returncode or done.stderr else ""

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            errors = [error for error in pool.map(compile_alone, headers) if error]
    print("\n".join(errors) if errors else f"headers: {len(headers)} ok")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
