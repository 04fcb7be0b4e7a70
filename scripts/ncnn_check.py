#!/usr/bin/env python3
"""Runs a model with its ncnn calibration table in ncnn and compares it with the simulation.

usage: ncnn_check.py FOLDER [--venv build/ncnn] [--rounds 50] [--threads 1]

FOLDER has NAME.table (format ncnn_table), NAME.onnx (format onnx_clean), the one input in inputs.npz
or inputs/*.npy, and the simulation's results in order in outputs.npz or outputs/*.npy, as written by
example_deploy_model. ncnn and pnnx, which converts ONNX, come from PyPI. ncnn2int8 does not, so this
script does its work: layers in the table get integer weights. pnnx renames layers, so they are
identified by their weights.
"""

import argparse
import pathlib
import struct
import subprocess

import check_runtime

INT8_TAG = 0x000D4B38  # marks int8 weights
# Layers with weights: the keys of the parameters "has a bias" and "number of weights".
LAYERS = {"Convolution": (5, 6), "ConvolutionDepthWise": (5, 6), "InnerProduct": (1, 2),
          "Deconvolution": (5, 6)}
WITHOUT_WEIGHTS = {"Input", "Split", "ReLU", "BinaryOp", "Pooling", "Flatten", "Reshape", "Concat",
                   "Clip", "Sigmoid", "Interp", "Padding", "Dropout", "Softmax", "UnaryOp", "Swish",
                   "Squeeze", "Crop", "Slice", "Noop", "Permute", "HardSwish"}


class Layer:
    """A line of a .param file, and its weights."""

    def __init__(self, line):
        words = line.split()
        self.type, self.name = words[:2]
        inputs, outputs = int(words[2]), int(words[3])
        self.blobs = words[2:4 + inputs + outputs]
        self.params = dict(word.split("=", 1) for word in words[4 + inputs + outputs:])
        self.weight = self.bias = None
        self.scales = None  # of weights and of the input

    def number(self, key, default=0):
        return int(self.params.get(str(key), default))

    def text(self):
        params = " ".join(f"{key}={value}" for key, value in self.params.items())
        return f"{self.type} {self.name} {' '.join(self.blobs)} {params}".rstrip()


def read_model(numpy, param, binary):
    lines = param.read_text().splitlines()
    data, at = binary.read_bytes(), 0

    def floats(count):
        nonlocal at
        at += 4 * count
        return numpy.frombuffer(data, "<f4", count, at - 4 * count)

    layers = [Layer(line) for line in lines[2:]]
    for layer in layers:
        if layer.type not in LAYERS:
            if layer.type not in WITHOUT_WEIGHTS:
                raise SystemExit(f"error: pnnx wrote a layer '{layer.type}' that is not handled here")
            continue
        bias, size = LAYERS[layer.type]
        (tag,) = struct.unpack_from("<I", data, at)
        if tag != 0:
            raise SystemExit(f"error: the weight of '{layer.name}' is not float32")
        at += 4
        layer.weight = floats(layer.number(size))
        if layer.number(bias):
            layer.bias = floats(layer.number(0))
    return lines[:2], layers


def write_model(numpy, head, layers, param, binary):
    param.write_text("\n".join(head + [layer.text() for layer in layers]) + "\n")
    parts = []
    for layer in layers:
        if layer.weight is None:
            continue
        if layer.scales is None:
            parts += [struct.pack("<I", 0), layer.weight.tobytes()]
        else:
            rows = layer.weight.reshape(len(layer.scales[0]), -1) * layer.scales[0][:, None]
            rounded = numpy.trunc(rows + numpy.copysign(0.5, rows))
            integers = numpy.clip(rounded, -127, 127).astype("i1").tobytes()
            parts += [struct.pack("<I", INT8_TAG), integers, b"\0" * (-len(integers) % 4)]
        if layer.bias is not None:
            parts.append(layer.bias.tobytes())
        if layer.scales is not None:
            parts += [layer.scales[0].tobytes(), layer.scales[1].tobytes()]
    binary.write_bytes(b"".join(parts))


def names_by_weight(file):
    """Names of the ONNX layers by the bytes of their weights."""
    import onnx
    graph = onnx.load(str(file)).graph
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    return {weights[node.input[1]].astype("<f4").tobytes(): node.name for node in graph.node
            if node.op_type in ("Conv", "Gemm") and node.input[1] in weights}


def quantize(numpy, layers, table, names):
    """Sets the scales of the layers in the table; returns their number."""
    done = 0
    for layer in layers:
        if layer.weight is None or layer.type == "Deconvolution":
            continue
        name = names.get(layer.weight.tobytes())
        if name is None or name not in table:
            print(f"  '{layer.name}' stays float: it is not in the table")
            continue
        layer.scales = table[name + "_param_0"], table[name]
        layer.params["8"] = "1" if layer.type == "ConvolutionDepthWise" else "2"
        done += 1
    return done


def load_net(ncnn, param, binary, threads, winograd):
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_vulkan_compute = False
    net.opt.use_winograd_convolution = winograd
    for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, option, False)
    if net.load_param(str(param)) != 0 or net.load_model(str(binary)) != 0:
        raise SystemExit(f"error: ncnn does not load {param}")
    return net


def run(ncnn, numpy, net, sample):
    extractor = net.create_extractor()
    extractor.input(net.input_names()[0], ncnn.Mat(numpy.ascontiguousarray(sample)))
    return [numpy.array(extractor.extract(name)[1]) for name in net.output_names()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--venv", default="build/ncnn")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    # pnnx depends on torch, which is not needed to convert ONNX.
    check_runtime.use_packages(args.venv, ["ncnn numpy onnx", "--no-deps pnnx"],
                               ["numpy", "ncnn", "onnx"])
    import ncnn
    import numpy
    import sysconfig

    table_file = check_runtime.find_one(args.folder, "*.table")
    name = table_file.stem
    table = {}
    for line in table_file.read_text().splitlines():
        key, *scales = line.split()
        table[key] = numpy.array(scales, "<f4")
    inputs = check_runtime.load_arrays(args.folder, "inputs")
    if len(inputs) != 1:
        raise SystemExit(f"error: expected one input, found {len(inputs)}")
    samples = next(iter(inputs.values()))
    expected = list(check_runtime.load_arrays(args.folder, "outputs").values())

    work = args.folder / "ncnn"
    work.mkdir(exist_ok=True)
    model = work / f"{name}.onnx"
    model.write_bytes((args.folder / f"{name}.onnx").read_bytes())
    shape = ",".join(str(size) for size in (1, *samples.shape[1:]))
    pnnx = pathlib.Path(sysconfig.get_paths()["purelib"]) / "pnnx" / "pnnx"
    subprocess.run([pnnx, model.name, f"inputshape=[{shape}]f32", "fp16=0"], cwd=work, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    files = [work / f"{name}.ncnn.param", work / f"{name}.ncnn.bin"]
    int8_files = [work / f"{name}_int8.param", work / f"{name}_int8.bin"]
    head, layers = read_model(numpy, *files)
    print(f"{name} in ncnn {ncnn.__version__}, {args.threads} thread{'s' if args.threads != 1 else ''}")
    count = quantize(numpy, layers, table, names_by_weight(model))
    print(f"  int8 runs {count} layers of the {len(table) // 2} in the table")
    write_model(numpy, head, layers, *int8_files)

    # ncnn's int8 Winograd kernels overflow with 8-bit weights.
    nets = [load_net(ncnn, *files, args.threads, winograd=True),
            load_net(ncnn, *int8_files, args.threads, winograd=False)]
    for what, net in (("int8", nets[1]), ("float", nets[0])):
        results = [run(ncnn, numpy, net, sample) for sample in samples]
        for i, wanted in enumerate(expected):
            found = numpy.stack([result[i].reshape(wanted.shape[1:]) for result in results])
            text = check_runtime.agreement(found, wanted)
            print(f"  {what} against the simulation, output {i}: {text}")
    times = check_runtime.least_milliseconds(
        [lambda: run(ncnn, numpy, nets[0], samples[0]), lambda: run(ncnn, numpy, nets[1], samples[0])],
        args.rounds)
    print(f"  one sample: float {times[0]:.2f} ms, int8 {times[1]:.2f} ms, "
          f"{times[0] / times[1]:.2f} times as fast")


if __name__ == "__main__":
    main()
