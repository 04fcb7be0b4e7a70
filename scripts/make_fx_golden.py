#!/usr/bin/env python3
"""Writes tests/zoo/golden/<model>.txt: the graphs that torch.fx traces from torchvision's models.

Needs Debian's python3-torch and python3-torchvision; run it by hand when a model is added. The text
is torch.fx's, without type annotations and with the spacing of Sparsebit's printer.
"""

import pathlib
import re
import sys

import torch.fx
import torchvision

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "zoo" / "golden"


def graph_text(name: str) -> str:
    model = getattr(torchvision.models, name)(weights=None)
    lines = [line.rstrip() for line in str(torch.fx.symbolic_trace(model).graph).splitlines()]
    text = "\n".join(line for line in lines if line) + "\n"
    text = text.replace("graph():", "graph:").replace("args = ", "args=").replace("kwargs = ", "kwargs=")
    return re.sub(r" : [\w.]+ \[#users", " : [#users", text)


for name in sys.argv[1:] or ["resnet18", "resnet50", "mobilenet_v2", "squeezenet1_1"]:
    (GOLDEN / f"{name}.txt").write_text(graph_text(name))
