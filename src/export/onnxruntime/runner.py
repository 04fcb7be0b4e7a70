"""Serves requests to Python's ONNX Runtime, with the protocol of runner.mjs."""

import json
import sys
import time

import numpy as np
import onnxruntime as ort

LEVELS = {
    "disable": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
sessions = []


def load(question, _):
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[question["optimize"]]
    options.intra_op_num_threads = question["threads"]
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors come back as exceptions
    if question["optimized"]:
        options.optimized_model_filepath = question["optimized"]
    session = ort.InferenceSession(question["model"], options, providers=["CPUExecutionProvider"])
    sessions.append(session)
    names = {"inputs": [i.name for i in session.get_inputs()],
             "outputs": [o.name for o in session.get_outputs()]}
    return {"session": len(sessions) - 1, **names}, []


def run(question, tensors):
    session = sessions[question["session"]]
    names = [output.name for output in session.get_outputs()]
    results = [np.asarray(r, order="C") for r in session.run(names, dict(tensors))]
    described = [{"name": name, "type": str(r.dtype), "shape": r.shape, "bytes": r.nbytes}
                 for name, r in zip(names, results)]
    return {"tensors": described}, results


def measure(question, tensors):
    feeds, start = [], 0
    for count in question["counts"]:
        feeds.append(dict(tensors[start:start + count]))
        start += count
    wall, cpu = [[] for _ in feeds], [[] for _ in feeds]
    for turn in range(question["rounds"] + 1):
        for i, number in enumerate(question["sessions"]):
            used, begin = time.process_time(), time.perf_counter()
            sessions[number].run(None, feeds[i])
            milliseconds, spent = time.perf_counter() - begin, time.process_time() - used
            if turn > 0:  # the first one warms up
                wall[i].append(1000 * milliseconds)
                cpu[i].append(1000 * spent)
    return {"wall": wall, "cpu": cpu}, []


def unload(question, _):
    sessions[question["session"]] = None
    return {}, []


def answer(line, source, out):
    question = json.loads(line)
    tensors = []
    for t in question.get("tensors", []):
        data = np.frombuffer(source.read(t["bytes"]), dtype=t["type"])
        tensors.append((t["name"], data.reshape(t["shape"])))
    try:
        result, data = {"load": load, "run": run, "time": measure, "unload": unload}[
            question["do"]](question, tensors)
        out.write(json.dumps({"ok": True, **result}).encode() + b"\n")
        for array in data:
            out.write(array.tobytes())
    except Exception as error:  # report any error and keep serving
        text = " ".join(str(error).split())
        out.write(json.dumps({"ok": False, "error": text}).encode() + b"\n")
    out.flush()


source, out = sys.stdin.buffer, sys.stdout.buffer
out.write(json.dumps({"ok": True, "version": ort.__version__}).encode() + b"\n")
out.flush()
for question in iter(source.readline, b""):
    answer(question, source, out)
