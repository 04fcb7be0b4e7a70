#!/usr/bin/env python3
"""Runs a small `quantize` again and again; each time another allocation fails.

usage: out_of_memory_check.py PROGRAM FAIL_ALLOCATION_LIBRARY

Whatever fails, the program ends with a message, leaves no files behind, and never writes a file
other than the right one.
"""
import os
import subprocess
import sys
import tempfile

program, library = sys.argv[1:3]
counts = tempfile.TemporaryDirectory()
COUNT = f"{counts.name}/count"
# A crash inside of a library that does not check an allocation: there is a message all the same.
CRASHED = "error: sparsebit crashed"
# libonnx prints this and goes on.
HARMLESS = "Schema error: std::bad_alloc"


def run(folder, failing=None, data=()):
    """(exit code, stderr, bytes of the file written or None, number of allocations or None)"""
    environment = dict(os.environ, LD_PRELOAD=library, COUNT_ALLOCATIONS=COUNT)
    if failing:
        environment["FAIL_ALLOCATION"] = str(failing)
    out = f"{folder}/out.onnx"
    done = subprocess.run([program, "quantize", "zoo:resnet20", "-o", out, "-q", "--samples", "2",
                           "--threads", "1", *data], env=environment, capture_output=True, text=True,
                          errors="replace", timeout=600)
    written = open(out, "rb").read() if os.path.exists(out) else None
    left = set(os.listdir(folder)) - {"out.onnx"}
    if left and not CRASHED in done.stderr:
        raise AssertionError(f"allocation {failing}: left behind: {left}")
    allocations = int(open(COUNT).read()) if os.path.exists(COUNT) else None
    return done.returncode, done.stderr, written, allocations


def check(failing, expected, data=()):
    """Whether a library crashed."""
    with tempfile.TemporaryDirectory() as folder:
        code, errors, written, _ = run(folder, failing, data)
    what = f"allocation {failing}: exit code {code}: {errors[:300]!r}"
    if code == 0:  # nothing depended on it
        assert written == expected, what + ": another file was written"
    else:
        assert code == 1 or CRASHED in errors, what
        assert "error: " in errors, what
        assert written is None, what + ": a file was written"
        assert "terminate called" not in errors, what
    assert "std::bad_alloc" not in errors.replace(HARMLESS, ""), what
    return CRASHED in errors


def check_all(factors, data=()):
    with tempfile.TemporaryDirectory() as folder:
        code, errors, expected, total = run(folder, data=data)
        assert code == 0 and expected and total > 1000, (code, errors, total)
    numbers = sorted({factor << power for power in range(40) for factor in factors})
    numbers = [number for number in numbers if number <= total]
    crashes = [number for number in numbers if check(number, expected, data)]
    # oneDNN does not check the allocation of its engine; nothing else may crash.
    assert len(crashes) <= 1, f"allocations that crashed it: {crashes}"
    print(f"{len(numbers)} of {total} allocations failed, one a run")


check_all(factors=(1, 3))

# With images of CIFAR-10, of noise.
images = f"{counts.name}/images.bin"
with open(images, "wb") as file:
    for i in range(2):
        file.write(bytes([i]) + bytes((7 * k * k + i) % 256 for k in range(3072)))
check_all(factors=(5,), data=("--data", images, "--preprocess", "cifar10"))
print("1 passed, 0 failed")
