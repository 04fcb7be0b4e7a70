#!/usr/bin/env python3
"""Peak memory and time of `sparsebit quantize` and of ONNX Runtime's quantize_static, side by side.

usage: peak_memory.py --command build/release/bin/sparsebit MODEL.onnx IMAGES [--samples 100]

Same images, same preprocessing (shorter side 256, center crop 224, ImageNet's mean and std), uint8
activations, int8 weights per channel. Each tool runs in a separate process, alternating, three times; the
smallest peak is reported. Needs onnxruntime, onnx, numpy and pillow from PyPI for ONNX Runtime's tool.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROUNDS = 3


def prepared_images(folder, count):
    import numpy
    from PIL import Image
    files = sorted(f for f in pathlib.Path(folder).rglob("*") if f.suffix.lower() in (".jpg", ".jpeg", ".png"))
    mean, std = (numpy.array(v, numpy.float32).reshape(3, 1, 1)
                 for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    for file in files[:count]:
        image = Image.open(file).convert("RGB")
        scale = 256 / min(image.size)
        image = image.resize([round(side * scale) for side in image.size], Image.BILINEAR)
        left, top = (image.width - 224) // 2, (image.height - 224) // 2
        pixels = numpy.asarray(image.crop((left, top, left + 224, top + 224)), numpy.float32)
        yield ((pixels.transpose(2, 0, 1) / 255 - mean) / std)[None]


def their_tool(model, images, count, out):
    """Runs ONNX Runtime's tool in this process, whose peak memory the parent measures."""
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
    import onnx
    name = onnx.load(model, load_external_data=False).graph.input[0].name

    class Reader:
        samples = prepared_images(images, count)

        def get_next(self):
            sample = next(self.samples, None)
            return None if sample is None else {name: sample}

    quant_pre_process(model, out + ".prepared", skip_symbolic_shape=True)
    quantize_static(out + ".prepared", out, Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    calibrate_method=CalibrationMethod.MinMax, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)


def peak_of(command):
    """Peak memory in MB and seconds of a process."""
    started = time.time()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]}: {errors.strip()[-500:]}")
    return usage.ru_maxrss / 1024, time.time() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("images")
    parser.add_argument("--command", required=True)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--their-tool", metavar="OUT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.their_tool:
        return their_tool(options.model, options.images, options.samples, options.their_tool)
    with tempfile.TemporaryDirectory() as folder:
        ours = [options.command, "quantize", options.model, "--data", options.images, "--samples",
                str(options.samples), "--preprocess", "imagenet", "-o", f"{folder}/a.onnx", "-q"]
        theirs = [sys.executable, __file__, options.model, options.images, "--command", "", "--samples",
                  str(options.samples), "--their-tool", f"{folder}/b.onnx"]
        found = [(peak_of(ours), peak_of(theirs)) for _ in range(ROUNDS)]
    (a, a_time), (b, b_time) = (min(pair[i] for pair in found) for i in range(2))
    print(f"sparsebit    {a:6.0f} MB  {a_time:5.1f} s\nonnxruntime  {b:6.0f} MB  {b_time:5.1f} s\n"
          f"ratio        {a / b:6.2f}     {a_time / b_time:5.2f}")


if __name__ == "__main__":
    main()
