#!/usr/bin/env python3
"""Imports every torchvision classification and segmentation model, traced and scripted.

usage: scripts/sweep_torchscript.py path/to/frontends_torchscript_test [name ...]

Needs torch and torchvision. Makes one file after the other in a temporary folder, with random
weights from a fixed seed, and lets the test program compare our run with libtorch's own. Prints
one line per file: its name and the largest relative difference, or what went wrong.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import torchvision

SIZES = {"inception_v3": 96, "googlenet": 96}
FIXED = ("vit_", "swin_", "maxvit", "alexnet", "vgg", "squeezenet")


def models():
    for space in (torchvision.models, torchvision.models.segmentation):
        for name in sorted(vars(space)):
            build = getattr(space, name)
            if name.islower() and callable(build) and not isinstance(build, type) and hasattr(build, "__wrapped__"):
                yield name, build


def make(build, name, kind, path):
    torch.manual_seed(5)
    arguments = {"weights": None}
    if "googlenet" in name or "inception" in name:
        arguments["init_weights"] = True
    if build.__module__.startswith("torchvision.models.segmentation"):
        arguments["weights_backbone"] = None
    model = build(**arguments).eval()
    size = SIZES.get(name, 224 if name.startswith(FIXED) else 64)
    if kind == "scripted":
        made = torch.jit.script(model)
    else:
        made = torch.jit.trace(model, torch.randn(2, 3, size, size), strict=False, check_trace=False)
    torch.jit.save(made, str(path), _extra_files={"inputs": f"float 2 3 {size} {size}"})


def check(program, folder):
    run = subprocess.run([program, "--gtest_filter=TorchScriptSweep.*"], text=True,
                         capture_output=True,
                         env={**os.environ, "SPARSEBIT_TORCHSCRIPT_SWEEP": str(folder)})
    lines = [line for line in run.stdout.splitlines() if " | " in line]
    return lines[0] if lines else f"? | crashed with code {run.returncode}"


def main():
    warnings.simplefilter("ignore")
    program, wanted = sys.argv[1], sys.argv[2:]
    for name, build in models():
        if wanted and name not in wanted:
            continue
        for kind in ("traced", "scripted"):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / f"{name}.{kind}.pt"
                try:
                    make(build, name, kind, path)
                except Exception as error:
                    print(f"{name}.{kind} | torch cannot make it: {str(error).splitlines()[0]}", flush=True)
                    continue
                print(check(program, folder), flush=True)


if __name__ == "__main__":
    main()
