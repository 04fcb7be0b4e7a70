#!/usr/bin/env python3
"""Measures the accuracy of quantized models and writes the table of results.

usage: SPARSEBIT_DATA=FOLDER accuracy_table.py --sparsebit build/release/bin/sparsebit
                                               --work build/accuracy --table docs/accuracy.md

Each model is calibrated with some of the images and tested on the others. Results are saved in the
work folder, so that an interrupted run continues, as long as the program has not changed.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys

OBSERVERS = ["minmax", "moving_average", "percentile", "mse", "aciq", "kl_histogram"]
BITS = [8, 4]
CIFAR_SAMPLE = 3073  # bytes: a label and 3x32x32 pixels

CONFIG = """SCHEDULE: {{FUSE_BN: true}}
W:
  QSCHEME: per-channel-symmetric
  QUANTIZER: {{TYPE: uniform, BIT: {bits}}}
  OBSERVER: {{TYPE: {weight_observer}}}
A:
  QSCHEME: per-tensor-affine
  QUANTIZER: {{TYPE: uniform, BIT: {bits}}}
  OBSERVER: {{TYPE: {observer}}}
"""


class Data:
    """Images for calibration and for testing."""

    def __init__(self, calibration, test, labels, preprocess):
        self.calibration, self.test = calibration, test
        self.labels, self.preprocess = labels, preprocess

    def options(self, part):
        data = self.calibration if part == "calibrate" else self.test
        labels = ["--labels", str(self.labels)] if self.labels and part == "test" else []
        return ["--data", str(data), "--preprocess", self.preprocess, *labels]


def imagenet(data, work):
    """Calibrates with every sixth of 600 images."""
    source = data / "datasets/imagenet-sample"
    for part in ("calibrate", "test"):
        (work / "imagenet" / part).mkdir(parents=True, exist_ok=True)
    for i, image in enumerate(sorted((source / "images").iterdir())):
        link = work / "imagenet" / ("calibrate" if i % 6 == 0 else "test") / image.name
        if not link.exists():
            link.symlink_to(image.resolve())
    tested = {image.name for image in (work / "imagenet/test").iterdir()}
    lines = (source / "labels.tsv").read_text().splitlines()
    labels = work / "imagenet/labels.tsv"
    rows = [line.split("\t") for line in lines[1:]]
    labels.write_text("".join(f"{file}\t{number}\n" for number, _, file in rows if file in tested))
    return Data(work / "imagenet/calibrate", work / "imagenet/test", labels, "imagenet")


def cifar10(data, work):
    """Calibrates with the first 256 of 10,000 images."""
    folder = work / "cifar10"
    folder.mkdir(parents=True, exist_ok=True)
    content = (data / "datasets/cifar10/test_batch.bin").read_bytes()
    (folder / "calibrate.bin").write_bytes(content[:256 * CIFAR_SAMPLE])
    (folder / "test.bin").write_bytes(content[256 * CIFAR_SAMPLE:])
    return Data(folder / "calibrate.bin", folder / "test.bin", None, "cifar10")


MODELS = [
    ("MobileNetV2", "models/imagenet/mobilenetv2-7.onnx", imagenet),
    ("SqueezeNet 1.1", "models/imagenet/squeezenet1.1.onnx", imagenet),
    ("ResNet-20", "models/cifar10/resnet20_cifar10_bn.onnx", cifar10),
]


class Measurements:
    """Runs the command and saves its results."""

    def __init__(self, sparsebit, work):
        self.sparsebit, self.work = sparsebit, work
        program = hashlib.sha1(pathlib.Path(sparsebit).read_bytes()).hexdigest()
        self.file = work / f"results-{program[:12]}.json"
        self.known = json.loads(self.file.read_text()) if self.file.exists() else {}

    def run(self, *args):
        process = subprocess.run([self.sparsebit, *map(str, args)], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        if process.returncode != 0:
            sys.exit(f"error: {' '.join(map(str, args))}\n{process.stderr}")
        return process.stdout

    def accuracy(self, key, model, data, *more):
        out = self.run("eval", model, *data.options("test"), "--batch-size", 32, "--json", "-q",
                       *more)
        self.known[key] = json.loads(out)
        self.file.write_text(json.dumps(self.known, indent=1))

    def of_float(self, name, model, data):
        if f"{name} float" not in self.known:
            self.accuracy(f"{name} float", model, data)
        return self.known[f"{name} float"]

    def in_onnxruntime(self, name, model, data):
        """The float model, and the file that `quantize` writes with default settings."""
        in_runtime = ["--runtime", "onnxruntime"]
        if f"{name} onnxruntime float" not in self.known:
            self.accuracy(f"{name} onnxruntime float", model, data, *in_runtime)
        if f"{name} onnxruntime" not in self.known:
            file = self.work / "model.int8.onnx"
            self.run("quantize", model, *data.options("calibrate"), "-o", file, "-q")
            self.accuracy(f"{name} onnxruntime", file, data, *in_runtime)
        return self.known[f"{name} onnxruntime float"], self.known[f"{name} onnxruntime"]

    def of_quantized(self, name, model, data, observer, bits):
        key = f"{name} {observer} {bits}"
        if key not in self.known:
            # A moving average is taken over batches, so weights cannot use it.
            weight_observer = "minmax" if observer == "moving_average" else observer
            config = self.work / "qconfig.yaml"
            config.write_text(CONFIG.format(bits=bits, observer=observer,
                                            weight_observer=weight_observer))
            quantized = self.work / "model.quantized"
            self.run("quantize", model, "-c", config, *data.options("calibrate"), "-o", quantized,
                     "-q")
            self.accuracy(key, quantized, data)
        return self.known[key]


def rows_of(name, model, data, measurements):
    reference = measurements.of_float(name, model, data)
    yield f"| {name} | float | {reference['top1']:.2f} | |"
    for observer in OBSERVERS:
        cells = []
        for bits in BITS:
            found = measurements.of_quantized(name, model, data, observer, bits)["top1"]
            cells.append(f"{found:.2f} ({found - reference['top1']:+.2f})")
            print(f"{name} {observer} {bits} bits: {cells[-1]}", flush=True)
        yield f"| | `{observer}` | {' | '.join(cells)} |"


def row_in_onnxruntime(name, model, data, measurements):
    original, quantized = measurements.in_onnxruntime(name, model, data)
    before, after = original["top1"], quantized["top1"]
    print(f"{name} in ONNX Runtime: {after:.2f} ({after - before:+.2f})", flush=True)
    return f"| {name} | {before:.2f} | {after:.2f} ({after - before:+.2f}) |"


PAGE = """# Accuracy of quantized models

MobileNetV2 and SqueezeNet: 600 labelled ImageNet images, every sixth for calibration, the other {imagenet} for the test. One
image is {image:.2f} points: differences below half a point are not significant. ResNet-20: CIFAR-10's test images, the
first 256 for calibration, the other {cifar} for the test.

## Exported files in ONNX Runtime

`sparsebit quantize MODEL --data IMAGES -o FILE.onnx` with its default settings, 8 bits; top-1 in percent
by `sparsebit eval --runtime onnxruntime`, with all optimizations.

| model | float | int8 |
|---|---|---|
{files}

## Observers, simulated

Top-1 in percent, and the difference to the float model. Weights per channel and symmetric, activations per tensor and
affine, the same settings for all layers, no training; batch norms folded. The same observer for weights and
activations, except for `moving_average`, where weights use `minmax`.

Measured by `sparsebit eval` on simulations with `BACKEND: virtual` in batches of 32; libraries round differently for
other batch sizes, which changes the top-1 class of up to four images of 500.

| model | observer | 8 bits | 4 bits |
|---|---|---|---|
{rows}

4 bits in all layers, without training, lose much accuracy. Keep the first and last layers and those with the largest
error (`sparsebit analyze`) at 8 bits with `SPECIFIC`, or train.

The tables are made by

```
SPARSEBIT_DATA=/path/to/data make accuracy
```
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sparsebit", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--table", required=True, type=pathlib.Path)
    options = parser.parse_args()
    if not os.environ.get("SPARSEBIT_DATA"):
        sys.exit("error: SPARSEBIT_DATA is not set; expected the folder with the models and data sets")
    data = pathlib.Path(os.environ["SPARSEBIT_DATA"])
    options.work.mkdir(parents=True, exist_ok=True)
    measurements = Measurements(options.sparsebit, options.work)
    rows, files = [], []
    for name, model, make_data in MODELS:
        images = make_data(data, options.work)
        files.append(row_in_onnxruntime(name, data / model, images, measurements))
        rows += rows_of(name, data / model, images, measurements)
    tested = {name: measurements.known[f"{name} float"]["samples"] for name, _, _ in MODELS}
    options.table.write_text(PAGE.format(imagenet=tested["MobileNetV2"],
                                         image=100 / tested["MobileNetV2"],
                                         cifar=f"{tested['ResNet-20']:,}", rows="\n".join(rows), files="\n".join(files)))


if __name__ == "__main__":
    main()
