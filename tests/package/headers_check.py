#!/usr/bin/env python3
"""Compiles the installed headers, with the flags that pkg-config gives and no others.

The headers of a folder are one file: each alone would take minutes, and `make separate` compiles
each alone. ATen takes most of the time of a header, so it is compiled once and included before
each; one folder does without, which shows that the flags suffice for ATen, too. Only
io/onnx_proto.h may include ONNX's headers, which need a definition that it has.

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
    headers = sorted(h.relative_to(include)
                     for h in pathlib.Path(include, "sparsebit").rglob("*.h"))
    assert len(headers) > 100, headers

    with tempfile.TemporaryDirectory() as work:
        aten = pathlib.Path(work, "aten.h")
        aten.write_text("#include <ATen/ATen.h>\n")
        subprocess.run([compiler, *flags, "-x", "c++-header", aten, "-o", f"{aten}.gch"], check=True)

        def compile_folder(folder: str) -> str:
            before = [] if folder == "sparsebit/core" else ["-include", aten]
            source = "".join(f"#include <{h}>\n" for h in headers if str(h.parent) == folder)
            done = subprocess.run(
                [compiler, *flags, "-Wall", "-Wextra", "-fsyntax-only", *before, "-x", "c++", "-"],
                input=source, text=True, stderr=subprocess.PIPE)
            return f"{folder}:\n{done.stderr}" if done.returncode or done.stderr else ""

        folders = sorted({str(h.parent) for h in headers})
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            errors = [error for error in pool.map(compile_folder, folders) if error]
    errors += [f"{h} includes ONNX's headers; include sparsebit/io/onnx_proto.h" for h in headers
               if "<onnx/" in pathlib.Path(include, h).read_text() and h.name != "onnx_proto.h"]
    print("\n".join(errors) if errors else f"headers: {len(headers)} ok")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
