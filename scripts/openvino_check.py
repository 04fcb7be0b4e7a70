#!/usr/bin/env python3
"""Runs a model's OpenVINO file in OpenVINO and compares it with the simulation.

usage: openvino_check.py FOLDER [--venv build/openvino] [--rounds 50] [--threads 1]

FOLDER has NAME_openvino.onnx (format openvino_fq), NAME.onnx (format onnx_clean), the inputs by
name in inputs.npz or inputs/*.npy, and the simulation's results in order in outputs.npz or
outputs/*.npy, as written by example_deploy_model. OpenVINO comes from PyPI.
"""

import argparse
import collections
import pathlib

import check_runtime


def compiled(core, file, threads):
    return core.compile_model(core.read_model(file), "CPU",
                              {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads,
                               "NUM_STREAMS": 1})


def precisions(model):
    """The number of convolutions and matrix products that OpenVINO runs in each type."""
    counts = collections.Counter()
    for node in model.get_runtime_model().get_ops():
        info = node.get_rt_info()
        kind = info["layerType"].astype(str) if "layerType" in info else ""
        if kind in ("Convolution", "FullyConnected", "Deconvolution", "MatMul"):
            counts[f"{kind} {info['runtimePrecision'].astype(str)}"] += 1
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--venv", default="build/openvino")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    check_runtime.use_packages(args.venv, ["openvino numpy"], ["numpy", "openvino"])
    import openvino

    file = check_runtime.find_one(args.folder, "*_openvino.onnx")
    name = file.name.removesuffix("_openvino.onnx")
    core = openvino.Core()
    quantized = compiled(core, file, args.threads)
    original = compiled(core, args.folder / f"{name}.onnx", args.threads)
    inputs = check_runtime.load_arrays(args.folder, "inputs")
    expected = list(check_runtime.load_arrays(args.folder, "outputs").values())

    print(f"{name} in OpenVINO {openvino.__version__}, {args.threads} thread{'s' if args.threads != 1 else ''}")
    print(f"  int8 runs {precisions(quantized)}")
    for what, model in (("int8", quantized), ("float", original)):
        results = model(inputs)
        for i, wanted in enumerate(expected):
            text = check_runtime.agreement(results[i], wanted)
            print(f"  {what} against the simulation, output {i}: {text}")
    sample = {key: value[:1] for key, value in inputs.items()}
    times = check_runtime.least_milliseconds(
        [lambda: original(sample), lambda: quantized(sample)], args.rounds)
    print(f"  one sample: float {times[0]:.2f} ms, int8 {times[1]:.2f} ms, "
          f"{times[0] / times[1]:.2f} times as fast")


if __name__ == "__main__":
    main()
