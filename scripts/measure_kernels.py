#!/usr/bin/env python3
"""Measures ONNX Runtime's float and integer kernels, as `costs` of a platform's YAML file.

usage: measure_kernels.py FLOAT.onnx=INTEGER.onnx ...

Each pair is a model and its quantized file (`sparsebit quantize` with SCHEDULE.FLOAT_WHERE_FASTER off,
so that all kernels are integer ones). ONNX Runtime runs both alternately with its profiler, one thread;
the shortest time of each node is used. Times of one kind of kernel are fitted by
nanoseconds = a * MACs + b * elements with a, b >= 0. The printed rows belong in
src/platforms/onnxruntime.yaml, under the class of the processor that this ran on. Needs onnxruntime, onnx, numpy
and scipy from PyPI.
"""

import collections
import json
import os
import pathlib
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from scipy.optimize import nnls

ROUNDS = 15
ELEMENTWISE = {
    "Add": "add", "QLinearAdd": "add", "Mul": "mul", "QLinearMul": "mul",
    "Sigmoid": "sigmoid", "QLinearSigmoid": "sigmoid",
    "LeakyRelu": "leaky_relu", "QLinearLeakyRelu": "leaky_relu",
    "AveragePool": "avg_pool2d", "QLinearAveragePool": "avg_pool2d",
    "GlobalAveragePool": "adaptive_avg_pool2d", "QLinearGlobalAveragePool": "adaptive_avg_pool2d",
    "MaxPool": "max_pool2d", "Concat": "cat", "QLinearConcat": "cat", "Split": "split",
    "Slice": "split", "Transpose": "permute", "Resize": "interpolate", "Relu": "relu", "Clip": "relu",
    "QuantizeLinear": "quantize", "DequantizeLinear": "dequantize"}
CONVOLUTIONS = {"Conv", "FusedConv", "QLinearConv"}
PRODUCTS = {"MatMul", "FusedMatMul", "QLinearMatMul", "MatMulIntegerToFloat"}
LINEAR = {"Gemm", "FusedGemm", "QGemm"}


def session(file, folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    return onnxruntime.InferenceSession(str(file), options, ["CPUExecutionProvider"])


def random_feed(run, generator):
    feed = {}
    for entry in run.get_inputs():
        shape = [size if isinstance(size, int) and size > 0 else 1 for size in entry.shape]
        if entry.type == "tensor(float)":
            feed[entry.name] = generator.standard_normal(shape).astype(numpy.float32)
        else:
            feed[entry.name] = numpy.ones(shape, numpy.int64)
    return feed


def profiled(files):
    """For each file: its nodes after optimization, the shortest time of each, and constants."""
    generator, found = numpy.random.default_rng(0), []
    with tempfile.TemporaryDirectory() as name:
        folders = [pathlib.Path(name) / str(i) for i in range(len(files))]
        for folder in folders:
            folder.mkdir()
        runs = [session(file, folder) for file, folder in zip(files, folders)]
        feeds = [random_feed(run, generator) for run in runs]
        for _ in range(ROUNDS):
            for run, feed in zip(runs, feeds):
                run.run(None, feed)
        for run, folder in zip(runs, folders):
            events = json.loads(pathlib.Path(run.end_profiling()).read_text())
            model = onnx.load(folder / "optimized.onnx")
            found.append(([*model.graph.node], least_times(events), constants(model)))
    return found


def constants(model):
    return {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}


def least_times(events):
    least = {}
    for event in events:
        if not event["name"].endswith("_kernel_time"):
            continue
        name = event["name"].removesuffix("_kernel_time")
        known = least.get(name)
        if known is None or event["dur"] < known["dur"]:
            least[name] = event
    return least


def elements(shapes):
    sizes = [int(numpy.prod(next(iter(entry.values())))) for entry in shapes]
    return max(sizes, default=0)


def first_shape(shapes):
    return next(iter(shapes[0].values())) if shapes else []


def attribute(node, name, default):
    return next((a.i for a in node.attribute if a.name == name), default)


def kernel(node, event, shapes_of_constants):
    """The row in `costs` and the MACs of a node; None for other operators."""
    result = first_shape(event["args"].get("output_type_shape", []))
    if node.op_type in CONVOLUTIONS:
        weight = shapes_of_constants.get(node.input[3 if node.op_type == "QLinearConv" else 1])
        if not weight:
            return None
        groups = attribute(node, "group", 1)
        macs = int(numpy.prod(result)) * int(numpy.prod(weight[1:]))
        if groups > 1 and weight[1] > 1:
            return "conv_grouped", macs
        if groups > 1:
            return ("conv_depthwise" if weight[0] == groups else "conv_multiplied"), macs
        return ("conv_pointwise" if all(s == 1 for s in weight[2:]) else "conv"), macs
    if node.op_type in PRODUCTS | LINEAR:
        left = first_shape(event["args"].get("input_type_shape", []))
        other = {"QLinearMatMul": 3, "QGemm": 3}.get(node.op_type, 1)
        is_constant = any(name in shapes_of_constants for name in node.input[other:other + 1])
        macs = int(numpy.prod(result)) * (left[-1] if left else 0)
        return ("linear" if node.op_type in LINEAR or is_constant else "product"), macs
    row = ELEMENTWISE.get(node.op_type)
    return (row, 0) if row else None


def collect(pairs):
    """(row, is integer) -> list of (nanoseconds, MACs, elements)."""
    samples = collections.defaultdict(list)
    for files in pairs:
        for is_integer, (nodes, times, known) in zip((False, True), profiled(files)):
            for node in nodes:
                event = times.get(node.name)
                found = kernel(node, event, known) if event else None
                if found is None:
                    continue
                size = elements(event["args"].get("output_type_shape", []) +
                                event["args"].get("input_type_shape", [])[:1])
                samples[found[0], is_integer].append((1e3 * event["dur"], found[1], size))
    return samples


def fitted(rows):
    """Minimizes relative errors, so that a single large layer does not dominate."""
    rows = [row for row in rows if row[0] > 0 and (row[1] or row[2])]
    if not rows:
        return None
    times, macs, sizes = (numpy.array(column, float) for column in zip(*rows))
    solution, _ = nnls(numpy.stack([macs / times, sizes / times], 1), numpy.ones(len(rows)))
    return [float(f"{value:.3g}") for value in solution]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    samples = collect([argument.split("=", 1) for argument in sys.argv[1:]])
    print(f"# ONNX Runtime {onnxruntime.__version__}, {os.cpu_count()} cores, {len(sys.argv) - 1} networks")
    for conversion in ("quantize", "dequantize"):
        fit = fitted(samples.pop((conversion, True), []))
        samples.pop((conversion, False), None)
        if fit:
            print(f"  {conversion}: {fit[1]}")
    for row in sorted({row for row, _ in samples}):
        both = {"float": fitted(samples[row, False]), "integer": fitted(samples[row, True])}
        counts = len(samples[row, False]), len(samples[row, True])
        if all(both.values()):
            print(f"  {row}: {{float: {both['float']}, integer: {both['integer']}}}  # {counts[0]}, {counts[1]} nodes")


if __name__ == "__main__":
    main()
