#!/usr/bin/env python3
"""Runs models with a Python installation of ONNX Runtime; the manifest is that of ort_run.mjs.

usage: python3 ort_run.py MANIFEST.json
"""

import json
import pathlib
import sys

import numpy as np
import onnxruntime as ort

LEVELS = {
    "disable": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


def run(entry: dict) -> dict:
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[entry.get("optimize", "disable")]
    options.intra_op_num_threads = entry.get("threads", 1)
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors come back as exceptions
    if "optimized" in entry:
        options.optimized_model_filepath = entry["optimized"]
    session = ort.InferenceSession(entry["model"], options, providers=["CPUExecutionProvider"])
    feeds = {name: np.load(path) for name, path in entry["inputs"].items()}
    names = [output.name for output in session.get_outputs()]
    outputs = session.run(names, feeds)
    folder = pathlib.Path(entry["outputs"])
    folder.mkdir(parents=True, exist_ok=True)
    for index, output in enumerate(outputs):
        np.save(folder / f"{index}.npy", output)
    return {"ok": True, "names": names}


def main() -> None:
    for entry in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        try:
            result = run(entry)
        except Exception as error:  # whatever it was, the next model gets its turn
            result = {"ok": False, "error": " ".join(str(error).split())}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
