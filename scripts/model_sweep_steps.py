"""The steps of scripts/model_sweep.py for one model, run in a separate process.

usage: model_sweep_steps.py WORK COMMAND CALIBRATION NAME EXPORTER...

Prints one line of JSON for each exporter. Existing files are not exported again.
"""

import json
import logging
import os
import pathlib
import subprocess
import sys
import time
import warnings

import numpy

from torchscript_sweep import randomize_statistics, tensors_in, worst

SAMPLES, FRESH = 8, 4
SECONDS_PER_COMMAND = 300
SECONDS_OF_TIMING, LEAST_ROUNDS, MOST_ROUNDS = 2.5, 7, 100
OPSET = 17

SUFFIX = {"legacy": "onnx", "dynamo": "onnx", "trace": "pt", "pt2": "pt2"}


def first_line(problem):
    lines = [line for line in str(problem).strip().splitlines() if line.strip()]
    return f"{type(problem).__name__}: {lines[0] if lines else ''}"[:300]


# Export

def write_file(model, inputs, exporter, file):
    """Exports the model and returns the input names in the file."""
    import torch
    names, tensors = [name for name, _ in inputs], tuple(tensor for _, tensor in inputs)
    if exporter == "trace":
        made = torch.jit.trace(model, tensors, check_trace=False, strict=False)
        torch.jit.save(made, str(file))
        return [argument.name for argument in made.forward.schema.arguments[1:]][:len(names)]
    if exporter == "pt2":
        made = torch.export.export(model, tensors)
        torch.export.save(made, str(file))
        return list(made.graph_signature.user_inputs)
    options = dict(dynamo=True) if exporter == "dynamo" else dict(dynamo=False, opset_version=OPSET)
    torch.onnx.export(model, tensors, str(file), input_names=names, **options)
    return names


def more_samples(tensor, count, generator):
    """Random samples distributed like the example: normal, in [0, 1), or tokens."""
    shape = (count, *tensor.shape[1:])
    if tensor.dtype == numpy.int64:
        low, high = int(tensor.min()), int(tensor.max())
        return generator.integers(low, high + 1, shape)
    made = generator.standard_normal(shape) if tensor.min() < 0 else generator.random(shape)
    return made.astype(tensor.dtype)


def export(name, exporter, folder):
    """Writes the file, an example with torch's results, and samples under the file's names."""
    import torch
    from model_sweep_models import MODELS
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    model.eval()
    folder.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        randomize_statistics(model)
        results = tensors_in(model(*(tensor for _, tensor in inputs)))
        names = write_file(model, inputs, exporter, folder / f"model.{SUFFIX[exporter]}")
    for i, tensor in enumerate(results):
        numpy.save(folder / f"torch_{i}.npy", tensor.numpy())
    generator = numpy.random.default_rng(1)
    examples = {n: tensor.numpy() for n, (_, tensor) in zip(names, inputs)}
    numpy.savez(folder / "example.npz", **examples)
    for file, count in (("samples", SAMPLES), ("fresh", FRESH)):
        numpy.savez(folder / f"{file}.npz",
                    **{n: more_samples(x, count, generator) for n, x in examples.items()})
    (folder / "exported.json").write_text(json.dumps({"results": len(results)}))


# Import

def call(command, *arguments):
    """Runs the command; returns standard output and an error message or None."""
    try:
        done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True,
                              timeout=SECONDS_PER_COMMAND)
    except subprocess.TimeoutExpired:
        return "", f"took more than {SECONDS_PER_COMMAND} s"
    if done.returncode == 0:
        return done.stdout, None
    lines = done.stderr.strip().splitlines()
    errors = [line for line in lines if "error" in line] or lines[-1:]
    return done.stdout, (errors[0] if errors else f"exit code {done.returncode}")[:300]


def check_import(command, file, folder, row):
    text, problem = call(command, "inspect", file, "--json")
    row["inspect"] = problem or "ok"
    examples = dict(numpy.load(folder / "example.npz"))
    inputs = []
    for name, value in examples.items():
        numpy.save(folder / f"in_{name}.npy", value)
        inputs += ["--input", f"{name}={folder}/in_{name}.npy"]
    text, problem = call(command, "run", file, *inputs, "-o", folder / "ours", "--json")
    if problem:
        row["run"] = problem
        return
    ours = [numpy.load(entry["file"]) for entry in json.loads(text)["outputs"]]
    count = json.loads((folder / "exported.json").read_text())["results"]
    row["run"] = worst(ours, [numpy.load(folder / f"torch_{i}.npy") for i in range(count)])
    if file.suffix == ".onnx":
        try:
            row["run_onnxruntime"] = worst(ours, session(file).run(None, examples))
        except Exception as e:
            row["run_onnxruntime"] = "ONNX Runtime: " + first_line(e)


# Quantize

def bytes_of(file):
    """The size of a file, with its external data."""
    return sum(f.stat().st_size for f in (file, file.with_name(file.name + ".data")) if f.exists())


def quantize(command, file, folder, row):
    out, started = folder / "sparsebit.onnx", time.time()
    text, problem = call(command, "quantize", file, "--data", folder / "samples.npz", "-o", out,
                         "--certify", "--force", "--json")
    ours = row["sparsebit"] = {"seconds": round(time.time() - started, 1)}
    if problem:
        ours["problem"] = problem
    try:
        report = json.loads(text)
    except ValueError:
        return None
    certificate = report.get("certificate", {})
    ours.update(bytes=bytes_of(out), coverage=report["coverage"]["macs"],
                verdict=certificate.get("verdict"), quality=certificate.get("quality"))
    row["processor"] = certificate.get("processor")
    row["steps"] = {c["runner"]: max((o["steps_99.9"] for o in c.get("outputs", [])), default=None)
                    for c in certificate.get("comparisons", [])}
    return out


class Reader:
    """Calibration data reader for ONNX Runtime's tool: one sample at a time, then None."""

    def __init__(self, file):
        self.values = dict(numpy.load(file))
        self.next = 0

    def get_next(self):
        i, self.next = self.next, self.next + 1
        return {n: v[i:i + 1] for n, v in self.values.items()} if i < SAMPLES else None


def quantize_static(file, folder, calibration, row):
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType
    from onnxruntime.quantization import quantize_static as their_quantize
    from onnxruntime.quantization.shape_inference import quant_pre_process
    out, prepared, started = folder / "onnxruntime.onnx", folder / "prepared.onnx", time.time()
    theirs = row["onnxruntime"] = {}
    try:
        try:
            quant_pre_process(str(file), str(prepared))
        except Exception as e:
            theirs["prepared"] = "without symbolic shapes: " + first_line(e)
            quant_pre_process(str(file), str(prepared), skip_symbolic_shape=True)
        method = {"minmax": CalibrationMethod.MinMax, "entropy": CalibrationMethod.Entropy}[calibration]
        their_quantize(str(prepared), str(out), Reader(folder / "samples.npz"),
                       quant_format=QuantFormat.QDQ, per_channel=True, calibrate_method=method,
                       activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        theirs["bytes"] = bytes_of(out)
    except Exception as e:
        theirs["problem"] = first_line(e)
        return None
    finally:
        theirs["seconds"] = round(time.time() - started, 1)
        prepared.unlink(missing_ok=True)
    return out


# Measure

def session(file):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(file), options, ["CPUExecutionProvider"])


def snr(reference, found):
    """SNR in dB of the worst float output; None if shapes differ, as after NMS."""
    worst_snr = None
    for expected, got in zip(zip(*reference), zip(*found)):
        if expected[0].dtype.kind != "f":
            continue
        if any(a.shape != b.shape for a, b in zip(expected, got)):
            return None
        signal = sum(float((a.astype(float) ** 2).sum()) for a in expected)
        noise = sum(float(((a.astype(float) - b) ** 2).sum()) for a, b in zip(expected, got))
        value = 10 * numpy.log10(signal / noise) if signal > 0 and noise > 0 else 200.0
        worst_snr = value if worst_snr is None else min(worst_snr, value)
    return None if worst_snr is None else round(float(worst_snr), 1)


def fastest(sessions, feed):
    """The least CPU time of each session in milliseconds; sessions alternate."""
    times = [[] for _ in sessions]
    for each in sessions:
        each.run(None, feed)
    started = time.process_time()
    while len(times[0]) < LEAST_ROUNDS or (
            time.process_time() - started < SECONDS_OF_TIMING and len(times[0]) < MOST_ROUNDS):
        for kept, each in zip(times, sessions):
            before = time.process_time()
            each.run(None, feed)
            kept.append(1e3 * (time.process_time() - before))
    return [min(kept) for kept in times]


def measure(file, quantized, folder, row):
    """Measures SNR and speed of the quantized files, given by tool."""
    fresh = dict(numpy.load(folder / "fresh.npz"))
    feeds = [{n: v[i:i + 1] for n, v in fresh.items()} for i in range(FRESH)]
    reference, tools = session(file), {}
    expected = [reference.run(None, feed) for feed in feeds]
    for tool, path in quantized.items():
        try:
            tools[tool] = session(path)
            row[tool]["snr"] = snr(expected, [tools[tool].run(None, feed) for feed in feeds])
        except Exception as e:
            tools.pop(tool, None)
            row[tool]["problem"] = "ONNX Runtime: " + first_line(e)
    times = fastest([reference, *tools.values()], feeds[0])
    row["float_ms"] = round(times[0], 3)
    for tool, milliseconds in zip(tools, times[1:]):
        row[tool].update(ms=round(milliseconds, 3), ratio=round(times[0] / milliseconds, 3))


def check(name, exporter, work, command, calibration):
    folder, row = work / exporter / name, {"model": name, "exporter": exporter}
    try:
        if not (folder / "exported.json").exists():
            export(name, exporter, folder)
    except Exception as e:
        row["not_made"] = first_line(e)
        return row
    file = folder / f"model.{SUFFIX[exporter]}"
    row["bytes"] = bytes_of(file)
    check_import(command, file, folder, row)
    if file.suffix == ".onnx":
        made = {"sparsebit": quantize(command, file, folder, row),
                "onnxruntime": quantize_static(file, folder, calibration, row)}
        try:
            measure(file, {tool: path for tool, path in made.items() if path}, folder, row)
        except Exception as e:
            row["not_measured"] = first_line(e)
    return row


def main():
    work, command, calibration, name, *exporters = sys.argv[1:]
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.environ.setdefault("SPARSEBIT_ONNXRUNTIME", sys.executable)
    results = os.dup(1)
    os.dup2(2, 1)  # exporters print to standard output, which is for results only
    for exporter in exporters:
        row = check(name, exporter, pathlib.Path(work), command, calibration)
        os.write(results, (json.dumps(row) + "\n").encode())


if __name__ == "__main__":
    main()
