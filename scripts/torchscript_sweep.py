#!/usr/bin/env python3
"""Traces and scripts many architectures with torch 2 and checks that sparsebit handles the files.

usage: torchscript_sweep.py --command build/release/bin/sparsebit --work FOLDER [--table FILE.md]
                            [--forms trace,script] [--quantize] [--again] [NAME ...]

Checks for each file: it is imported and agrees with torch (1e-4 of the largest magnitude), it is
converted to ONNX, ONNX Runtime agrees, and, with --quantize, it is quantized. Files are kept in the
work folder and made only once; --again makes them again. Needs torch 2, torchvision, timm,
transformers and onnxruntime from PyPI; scripts/torchscript_models.py lists the architectures.
"""

import argparse
import fnmatch
import json
import pathlib
import signal
import subprocess
import sys
import warnings

import numpy

from torchscript_models import MODELS

LIMIT = 1e-4
SECONDS = 300


class TooLong(Exception):
    pass


def stop(*_):
    raise TooLong(f"took more than {SECONDS} s")


def tensors_in(result):
    import torch
    if torch.is_tensor(result):
        return [result]
    items = result.values() if isinstance(result, dict) else result
    return [t for item in items for t in tensors_in(item)] if isinstance(
        items, (list, tuple, type({}.values()))) else []


def randomize_statistics(model):
    """Randomizes the statistics of batch norms, which would be identities otherwise."""
    import torch
    generator = torch.Generator().manual_seed(1)
    for module in model.modules():
        if getattr(module, "running_var", None) is not None:
            module.running_var.copy_(torch.rand(module.running_var.shape, generator=generator) / 2 + 0.75)
            module.running_mean.copy_(
                torch.randn(module.running_mean.shape, generator=generator) * 0.1)


def make(name, form, folder):
    """Writes model.pt, its inputs and torch's results."""
    import torch
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    model.eval()
    with torch.no_grad():
        randomize_statistics(model)
        tensors = tuple(t for _, t in inputs)
        results = tensors_in(model(*tensors))
        if form == "trace":
            made = torch.jit.trace(model, tensors, check_trace=False, strict=False)
        else:
            made = torch.jit.script(model)
    names = [argument.name for argument in made.forward.schema.arguments[1:]]
    folder.mkdir(parents=True, exist_ok=True)
    for argument, tensor in zip(names, tensors):
        numpy.save(folder / f"in_{argument}.npy", tensor.numpy())
    for i, tensor in enumerate(results):
        numpy.save(folder / f"out_{i}.npy", tensor.numpy())
    torch.jit.save(made, str(folder / "model.pt"))
    (folder / "inputs.json").write_text(json.dumps(names[:len(tensors)]))


def difference(ours, theirs):
    if ours.shape != theirs.shape:
        return f"shape {list(ours.shape)} instead of {list(theirs.shape)}"
    if theirs.size == 0:
        return 0.0
    ours, theirs = ours.astype(numpy.float64), theirs.astype(numpy.float64)
    finite = numpy.isfinite(theirs)
    if not (numpy.isfinite(ours) == finite).all():
        return "different elements are not finite"
    if not finite.any():
        return 0.0
    return float(numpy.abs(ours - theirs)[finite].max() / max(1e-30, numpy.abs(theirs[finite]).max()))


def worst(ours, theirs):
    if len(ours) != len(theirs):
        return f"{len(ours)} results instead of {len(theirs)}"
    found = [difference(a, b) for a, b in zip(ours, theirs)]
    texts = [d for d in found if isinstance(d, str)]
    return texts[0] if texts else max(found, default=0.0)


def run(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"took more than {SECONDS} s"
    lines = [line for line in done.stderr.strip().splitlines() if "error" in line]
    text = lines[-1] if lines else done.stderr.strip()[-300:]
    return (done.stdout, "") if done.returncode == 0 else (None, text or f"exit {done.returncode}")


def shape_options(folder, names):
    options = []
    for name in names:
        example = numpy.load(folder / f"in_{name}.npy")
        sizes = "x".join(str(n) for n in example.shape)
        options += ["--shape", f"{name}={sizes}:{example.dtype}"]
    return options


def check_run(command, folder, names, extra, result):
    inputs = [text for name in names for text in ("--input", f"{name}={folder}/in_{name}.npy")]
    text, problem = run([command, "run", f"{folder}/model.pt", *inputs, *extra, "-o", f"{folder}/ours",
                         "--json"])
    if problem:
        result["run"] = problem
        return
    files = [entry["file"] for entry in json.loads(text)["outputs"]]
    theirs = [numpy.load(folder / f"out_{i}.npy") for i in range(len(list(folder.glob("out_*.npy"))))]
    result["run"] = worst([numpy.load(file) for file in files], theirs)


def check_convert(command, folder, names, result):
    onnx = folder / "model.onnx"
    text, problem = run([command, "convert", f"{folder}/model.pt", "-o", str(onnx),
                         *shape_options(folder, names)])
    if problem:
        result["convert"] = problem
        return
    import onnxruntime
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(onnx), options, ["CPUExecutionProvider"])
        feed = {i.name: numpy.load(folder / f"in_{i.name}.npy") for i in session.get_inputs()}
        found = session.run(None, feed)
    except Exception as e:  # any error of ONNX Runtime is a result
        result["convert"] = "ONNX Runtime: " + str(e).splitlines()[0][:200]
        return
    theirs = [numpy.load(folder / f"out_{i}.npy") for i in range(len(list(folder.glob("out_*.npy"))))]
    result["convert"] = worst(found, theirs)
    onnx.unlink()


def check_quantize(command, folder, names, result):
    samples = {name: numpy.load(folder / f"in_{name}.npy") for name in names}
    numpy.savez(folder / "samples.npz", **samples)
    text, problem = run([command, "quantize", f"{folder}/model.pt", "--data",
                         f"{folder}/samples.npz", "-o", f"{folder}/int8.onnx", "--json"])
    if problem:
        result["quantize"] = problem
        return
    coverage = json.loads(text).get("coverage")
    result["quantize"] = coverage if coverage is not None else "written"


def check(name, form, options):
    folder = options.work / form / name
    result = {"name": name, "form": form}
    if options.again or not (folder / "inputs.json").exists():
        signal.alarm(SECONDS)
        try:
            make(name, form, folder)
        except (Exception, TooLong) as e:
            result["not_made"] = (f"{type(e).__name__}: {e}".strip().splitlines() or [""])[0][:160]
            return result
        finally:
            signal.alarm(0)
    names = json.loads((folder / "inputs.json").read_text())
    shapes = shape_options(folder, names) if form == "script" else []
    check_run(options.command, folder, names, shapes, result)
    check_convert(options.command, folder, names, result)
    if options.quantize:
        check_quantize(options.command, folder, names, result)
    return result


def is_good(value):
    return not isinstance(value, str) and value <= LIMIT


def passed(result):
    quantized = not isinstance(result.get("quantize"), str)
    return is_good(result["run"]) and is_good(result["convert"]) and quantized


def shown(value):
    return f"{value:.1e}" if isinstance(value, float) else str(value).replace("|", "/")


def write_table(results, path):
    lines = ["| model | form | agrees with torch | as ONNX | quantizes |", "|---|---|---|---|---|"]
    for result in results:
        if "not_made" in result:
            lines.append(f"| {result['name']} | {result['form']} | torch: {shown(result['not_made'])} | | |")
            continue
        quantized = result.get("quantize", "")
        lines.append(f"| {result['name']} | {result['form']} | {shown(result['run'])} | "
                     f"{shown(result['convert'])} | {shown(quantized)} |")
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--forms", default="trace")
    parser.add_argument("--quantize", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME", help="patterns such as 'timm_*'")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGALRM, stop)
    chosen = [n for n in MODELS if not options.names or
              any(fnmatch.fnmatch(n, pattern) for pattern in options.names)]
    results = []
    for name in chosen:
        for form in options.forms.split(","):
            result = check(name, form, options)
            results.append(result)
            print(json.dumps(result), flush=True)
    if options.table:
        write_table(results, options.table)
    made = [r for r in results if "not_made" not in r]
    failed = [r for r in made if not passed(r)]
    print(f"{len(results)} files, {len(results) - len(made)} not made by torch, "
          f"{len(made) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
