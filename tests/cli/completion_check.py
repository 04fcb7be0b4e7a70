#!/usr/bin/env python3
"""Has bash complete command lines with the generated script, zsh read its own, and groff the manual page.

usage: completion_check.py FOLDER
FOLDER has sparsebit.bash, _sparsebit and sparsebit.1. zsh and groff are used where they are installed.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

scripts = pathlib.Path(sys.argv[1]).resolve()
failures = []


def completed(words, breaks=" \t\n\"'><=;|&(:"):
    """What bash offers for the last of `words`, which are as it splits them."""
    script = f"""
        source {scripts}/sparsebit.bash
        COMP_WORDBREAKS=$1; shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _sparsebit
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", breaks, "sparsebit", *words],
                          cwd=folder, capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        failures.append(f"{words}: exit code {done.returncode}: {done.stderr}")
    return sorted(done.stdout.split("\n")[:-1]) if done.stdout.strip() else []


def expect(words, *wanted, exactly=True, **more):
    found = completed(words, **more)
    if (found != sorted(wanted)) if exactly else not set(wanted) <= set(found):
        failures.append(f"{words}: expected {sorted(wanted)}, found {found}")


with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "model one.onnx").touch()
    (pathlib.Path(folder) / "images").mkdir()
    expect(["ins"], "inspect")
    expect(["--v"], "--version")
    expect([""], "inspect", "quantize", "help", exactly=False)
    expect(["help", "qua"], "quantize")
    expect(["inspect", "--fo"], "--format")
    expect(["inspect", "--format", ""], "fx", "json", "mermaid", "table")
    expect(["inspect", "--format", "t"], "table")
    expect(["inspect", "--format", "=", "t"], "table")  # --format=t
    expect(["inspect", "--format", "="], "fx", "json", "mermaid", "table")
    expect(["inspect", "mod"], "model one.onnx")
    expect(["inspect", "--json", "mod"], "model one.onnx")
    expect(["inspect", "z"], "zoo:")
    expect(["inspect", "zoo", ":", "resnet1"], "resnet18", exactly=False)
    expect(["inspect", "zoo", ":"], "list", "resnet18", exactly=False)
    expect(["inspect", "zoo:resnet1"], "zoo:resnet18", exactly=False, breaks=" \t\n")
    expect(["inspect", "--threads", ""])
    expect(["inspect", "--fuse", "--without", "fuse_b"], "fuse_bn", exactly=False)
    expect(["quantize", "m", "--platform", "onnx"], "onnxruntime")
    expect(["quantize", "m", "--preprocess", "imagene"], "imagenet")
    expect(["quantize", "m", "--data", "im"], "images")
    expect(["quantize", "m", "-o", "mod"], "model one.onnx")
    expect(["quantize", "m", "--form"], "--format")
    expect(["quantize", "m", "--format", ""], "qdq", "qoperator")
    expect(["platforms", "--show", "snp"], "snpe")
    expect(["data", "--show-preprocess", "lis"], "list")
    expect(["nonsense", "x"])

    zsh = shutil.which("zsh")
    if zsh:
        done = subprocess.run([zsh, "-n", scripts / "_sparsebit"], capture_output=True, text=True)
        if done.returncode != 0 or done.stderr:
            failures.append(f"zsh -n: {done.stderr}")

groff = shutil.which("groff")
if groff:
    done = subprocess.run([groff, "-man", "-Tutf8", "-ww", "-b", scripts / "sparsebit.1"],
                          capture_output=True, text=True)
    # Long words of lists of names cannot be broken: the only warning that is not about the source.
    warnings = [line for line in done.stderr.splitlines() if "warning" in line or "error" in line]
    wrong = [line for line in warnings if "break" not in line and "adjust" not in line]
    if done.returncode != 0 or wrong:
        failures.append("groff: " + "\n".join(wrong or [done.stderr]))
    for part in ("SYNOPSIS", "--preprocess", "EXIT STATUS"):
        if part not in re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout):  # without bold
            failures.append(f"groff: {part} is not in the page")

print("\n".join(failures) if failures else "1 passed, 0 failed")
sys.exit(1 if failures else 0)
