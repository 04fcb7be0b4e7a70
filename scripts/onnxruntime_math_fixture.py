#!/usr/bin/env python3
"""Prints the values that tests/quant/kernels/onnxruntime_math_test.cpp expects: hashes of ONNX
Runtime's results for the inputs of that test. Softmax depends on the processor: run it on one
with AVX-512 and on one without. Needs onnx, onnxruntime and numpy."""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

ROWS, SIZE = 7, 197


def numbers(count, first):
    bits = (np.arange(first, first + count, dtype=np.uint64) * 2654435761) % 2**32
    return ((bits >> 8).astype(np.float64) / 2**20 - 8).astype(np.float32)


def fnv(values):
    h = 14695981039346656037
    for word in values.astype(np.float32).view(np.uint32).ravel():
        h = ((h ^ int(word)) * 1099511628211) % 2**64
    return f"0x{h:016x}"


def run(op, constants=(), **attributes):
    x = numbers(ROWS * SIZE, 0).reshape(ROWS, SIZE)
    names = [f"c{i}" for i in range(len(constants))]
    graph = helper.make_graph(
        [helper.make_node(op, ["x", *names], ["y"], **attributes)], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(c, n) for c, n in zip(constants, names)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options)
    return fnv(session.run(None, {"x": x})[0])


print("ONNX Runtime", ort.__version__)
for op in ("Exp", "Erf", "Sigmoid", "Tanh"):
    print(op, run(op))
for op in ("Softmax", "LogSoftmax"):
    print(op, run(op, axis=-1))
print("ReduceMean", run("ReduceMean", axes=[-1], keepdims=0))
weight, bias = numbers(SIZE, 5000), numbers(SIZE, 6000)
print("LayerNormalization", run("LayerNormalization", (weight, bias), axis=-1, epsilon=1e-6))
print("LayerNormalization without bias", run("LayerNormalization", (weight,), axis=-1, epsilon=1e-6))
