#!/usr/bin/env python3
"""Makes files of torchvision's architectures: traced, scripted, and ONNX of opsets 11, 13 and 17.

usage: make_sweep_models.py --list
       make_sweep_models.py NAME FOLDER [--check COMMAND] [--forms traced,scripted]

Writes input.npy, expected0.npy, ... and one file per form into FOLDER. Weights are random with a
fixed seed; batch norm statistics are chosen so that values neither vanish nor explode. For each
form one line of JSON is printed. With --check, COMMAND is run with the file, the input and the
folder as arguments, its line of JSON is added, and the file is deleted: the files of one
architecture may take ten gigabytes.
"""

import argparse
import inspect
import json
import os
import pathlib
import subprocess
import time
import warnings

import numpy
import torch
import torchvision
from torchvision import models
from torchvision.models import detection, segmentation

FORMS = ["traced", "scripted", "opset11", "opset13", "opset17"]
SEED = 0
BATCH = 2
# Detectors of which only the feature extractor is used; the rest has data-dependent control flow.
DETECTORS = ["fasterrcnn_mobilenet_v3_large_fpn", "fasterrcnn_resnet50_fpn",
             "fasterrcnn_resnet50_fpn_v2", "fcos_resnet50_fpn", "retinanet_resnet50_fpn",
             "ssd300_vgg16", "ssdlite320_mobilenet_v3_large"]
BACKBONE = "backbone_of_"


def names() -> list[str]:
    return (models.list_models(models) + models.list_models(segmentation)
            + [BACKBONE + name for name in DETECTORS])


def input_size(name: str) -> int:
    """A small image size that the architecture supports."""
    if name == "maxvit_t":
        return 224  # the smallest size that its windows divide
    if name.startswith(("alexnet", "vgg")):
        return 224  # torch exports their adaptive pooling to ONNX only if the sizes are divisible
    if name == "vit_h_14":
        return 56  # a multiple of its patches
    if name == BACKBONE + "ssd300_vgg16":
        return 300  # its last feature map is one pixel of this
    if name.startswith(("inception", "swin", BACKBONE + "ssd")):
        return 128
    return 64


def build(name: str) -> torch.nn.Module:
    torch.manual_seed(SEED)
    if name.startswith(BACKBONE):
        make = models.get_model_builder(name.removeprefix(BACKBONE))
        return make(weights=None, weights_backbone=None).backbone
    make = models.get_model_builder(name)
    options = {"weights": None}
    if "weights_backbone" in inspect.signature(make).parameters:
        options["weights_backbone"] = None
    if name.startswith("vit_"):
        options["image_size"] = input_size(name)
    if name in ("googlenet", "inception_v3"):
        options["init_weights"] = False  # its own initialization takes minutes
    return make(**options)


def settle(model: torch.nn.Module, size: int) -> None:
    """Replaces initial zeros by random values, and gives batch norms random weights and statistics
    that keep values at a common scale.

    The variance is that of the whole layer around zero, and means are small. True per-channel
    statistics of random features would divide small differences of large numbers by a small
    deviation, and so amplify rounding errors from layer to layer: float and double would differ by
    more than the tolerance of the comparison.
    """
    def measure(norm: torch.nn.BatchNorm2d, inputs: tuple[torch.Tensor]) -> None:
        square = inputs[0].square().mean() * torch.empty_like(norm.bias).uniform_(0.8, 1.2) + 1e-6
        norm.running_var.copy_(square)
        norm.running_mean.copy_(0.1 * torch.randn_like(square) * square.sqrt())

    for parameter in model.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, 0, 0.05)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        torch.nn.init.uniform_(norm.weight, 0.8, 1.2)
        torch.nn.init.normal_(norm.bias, 0, 0.1)
    hooks = [norm.register_forward_pre_hook(measure) for norm in norms]
    model.eval()
    model(torch.randn(4, 3, size, size))
    for hook in hooks:
        hook.remove()


def tensors_of(value) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value or []
    return [tensor for item in items for tensor in tensors_of(item)]


def write(form: str, model: torch.nn.Module, x: torch.Tensor, path: pathlib.Path) -> None:
    if form == "traced":
        torch.jit.trace(model, x, strict=False).save(str(path))
    elif form == "scripted":
        torch.jit.script(model).save(str(path))
    else:
        opset = int(form.removeprefix("opset"))
        axes = {"x": {0: "batch"}} if opset == 17 else None  # one opset with a dynamic size
        torch.onnx.export(model, x, str(path), input_names=["x"], opset_version=opset,
                          dynamic_axes=axes)


def file_of(form: str) -> str:
    return form + (".onnx" if form.startswith("opset") else ".pt")


def check(command: str, path: pathlib.Path, folder: pathlib.Path) -> dict:
    process = subprocess.run([command, str(path), str(folder / "input.npy"), str(folder)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        return json.loads(process.stdout)
    except json.JSONDecodeError:
        message = " ".join(process.stderr.split())[-300:]
        return {"error": f"ended with status {process.returncode}: {message}"}


def make_model(name: str, folder: pathlib.Path, command: str | None, forms: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    size = input_size(name)
    model = build(name)
    with torch.no_grad():
        settle(model, size)
        x = torch.randn(BATCH, 3, size, size, generator=torch.Generator().manual_seed(SEED))
        expected = tensors_of(model(x))
    numpy.save(folder / "input.npy", x.numpy())
    for index, tensor in enumerate(expected):
        numpy.save(folder / f"expected{index}.npy", tensor.numpy())
    for form in forms:
        path = folder / file_of(form)
        result = {"name": name, "form": form, "size": size}
        before = set(os.listdir(folder))
        started = time.time()
        try:
            # Without gradients, attention uses a fast path that torch cannot export to ONNX.
            with torch.set_grad_enabled(form.startswith("opset")):
                write(form, model, x, path)
        except Exception as error:  # torch cannot export it: reported in the table
            lines = str(error).strip().splitlines()
            result["not_made"] = lines[0][:200] if lines else type(error).__name__
        result["made_seconds"] = round(time.time() - started, 1)
        if command and "not_made" not in result:
            result |= check(command, path, folder)
        print(json.dumps(result), flush=True)
        if command:  # large ONNX files have external data files
            for added in set(os.listdir(folder)) - before:
                (folder / added).unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("name", nargs="?")
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.list:
        print(json.dumps({"torch": torch.__version__, "torchvision": torchvision.__version__,
                          "names": names()}))
    else:
        make_model(options.name, options.folder, options.check, options.forms.split(","))


if __name__ == "__main__":
    main()
