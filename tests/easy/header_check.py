#!/usr/bin/env python3
"""Fails unless sparsebit/easy/easy.h compiles with nothing but the standard library.

usage: header_check.py COMPILER INCLUDE_FOLDER
"""

import re
import subprocess
import sys

PROGRAM = """
#include <sparsebit/easy/easy.h>
#include <sparsebit/easy/easy.h>
std::string run() {
  sparsebit::easy::QuantizeFileOptions options;
  options.on_progress = [](const std::string&, std::int64_t, std::int64_t) {};
  return sparsebit::easy::quantize_file("a.onnx", "images/", "b.onnx", options).file;
}
"""


def main() -> int:
    compiler, include = sys.argv[1:]
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", include, "-x", "c++", "-"]
    subprocess.run([*command, "-fsyntax-only"], input=PROGRAM, text=True, check=True)
    text = subprocess.run([*command, "-E"], input=PROGRAM, text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    files = set(re.findall(r'^# \d+ "([^"<]+)"', text, re.MULTILINE))
    ours = {f for f in files if f.startswith(include)}
    if ours != {include + "/sparsebit/easy/easy.h"}:
        print("easy.h includes other headers of ours:", *sorted(ours))
        return 1
    # The system's own folder has those of libtorch and ONNX as well as those of the C library.
    foreign = [f for f in files if re.search(r"/(ATen|c10|torch|caffe2|onnx|google|fmt|spdlog)/", f)]
    print("\n".join(["easy.h includes:", *foreign]) if foreign else "easy.h: ok")
    return 1 if foreign else 0


if __name__ == "__main__":
    sys.exit(main())
