#!/usr/bin/env python3
"""Makes tests/export/fixtures: minimal versions of torchvision's architectures and a BERT, as ONNX
files.

usage: make_onnx_fixtures.py [FOLDER]

Each is exported by torch at opsets 11, 13 and 17, with its input and torch's results.
Needs Debian's python3-torchvision. The full sizes are checked by `make test-sweep`.
"""

import functools
import pathlib
import sys
import warnings

import numpy
import torch
from torchvision import models, ops
from torchvision.models import convnext, densenet, efficientnet, mobilenetv3, resnet

OPSETS = [11, 13, 17]
FOLDER = pathlib.Path(__file__).parent.parent / "tests" / "export" / "fixtures"


class Residual(torch.nn.Sequential):
    def __init__(self):
        down = torch.nn.Sequential(resnet.conv1x1(8, 16, 2), torch.nn.BatchNorm2d(16))
        super().__init__(resnet.conv3x3(3, 8), torch.nn.MaxPool2d(3, 2, 1),
                         resnet.BasicBlock(8, 8), resnet.BasicBlock(8, 16, 2, down),
                         torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 5))


class Frozen(torch.nn.Sequential):
    """The start of a detector: frozen batch norms, a separate padding layer, and features that are
    normalized before they are classified."""

    def __init__(self):
        norm = ops.misc.FrozenBatchNorm2d
        down = torch.nn.Sequential(resnet.conv1x1(8, 16, 2), norm(16))
        super().__init__(torch.nn.ZeroPad2d(1), torch.nn.Conv2d(3, 8, 3, bias=False), norm(8),
                         torch.nn.ReLU(), resnet.BasicBlock(8, 8, norm_layer=norm),
                         resnet.BasicBlock(8, 16, 2, down, norm_layer=norm),
                         torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                         torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 5))


class Pyramid(torch.nn.Module):
    """A feature pyramid of two sizes; returns a list."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 4, 3, 2, 1)
        self.second = torch.nn.Conv2d(4, 8, 3, 2, 1)
        self.fpn = ops.FeaturePyramidNetwork([4, 8], 4)

    def forward(self, x):
        large = self.first(x)
        merged = self.fpn({"large": large, "small": self.second(large.relu())})
        return [merged["large"], merged["small"]]


class BertLayer(torch.nn.Module):
    """Attention as in the original BERT: heads by view and permute, the mask added to scores."""

    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (torch.nn.Linear(size, size) for _ in range(3))
        self.attended, self.widen, self.narrow = (
            torch.nn.Linear(*sizes) for sizes in ((size, size), (size, 2 * size), (2 * size, size)))
        self.norm1 = torch.nn.LayerNorm(size, eps=1e-12)
        self.norm2 = torch.nn.LayerNorm(size, eps=1e-12)
        self.dropout = torch.nn.Dropout(0.1)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = query @ key.transpose(-1, -2) / query.size(-1) ** 0.5 + mask
        context = self.dropout(scores.softmax(-1)) @ value
        context = context.permute(0, 2, 1, 3).contiguous().view(x.shape)
        x = self.norm1(x + self.dropout(self.attended(context)))
        return self.norm2(x + self.dropout(self.narrow(torch.nn.functional.gelu(self.widen(x)))))


class Bert(torch.nn.Module):
    """Token 0 is padding, which is masked."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(20, 8)
        self.positions = torch.nn.Embedding(6, 8)
        self.norm = torch.nn.LayerNorm(8, eps=1e-12)
        self.layers = torch.nn.ModuleList(BertLayer(8, 2) for _ in range(2))
        self.pooler = torch.nn.Linear(8, 8)

    def forward(self, ids):
        mask = (1 - (ids != 0).float())[:, None, None, :] * -10000.0
        x = self.norm(self.words(ids) + self.positions(torch.arange(ids.size(1))))
        for layer in self.layers:
            x = layer(x, mask)
        return torch.tanh(self.pooler(x[:, 0]))


def mobilenet_v3():
    block = functools.partial(mobilenetv3.InvertedResidualConfig, width_mult=1.0)
    settings = [block(8, 3, 16, 8, True, "RE", 1, 1), block(8, 5, 16, 8, True, "HS", 2, 1)]
    return models.MobileNetV3(settings, last_channel=16, num_classes=5)


def efficientnet_tiny():
    block = functools.partial(efficientnet.MBConvConfig, width_mult=1.0, depth_mult=1.0)
    return models.EfficientNet([block(1, 3, 1, 8, 8, 1), block(4, 5, 2, 8, 8, 2)], dropout=0.1,
                               num_classes=5, last_channel=16)


MODELS = {
    "residual": (Residual, 16),
    "frozen": (Frozen, 16),
    "mobilenet_v3": (mobilenet_v3, 16),
    "efficientnet": (efficientnet_tiny, 16),
    "densenet": (lambda: models.DenseNet(4, (2, 2), 8, 2, num_classes=5), 32),
    "shufflenet": (lambda: models.ShuffleNetV2([1, 2, 1], [4, 8, 16, 16, 16], 5), 32),
    "convnext": (lambda: models.ConvNeXt(
        [convnext.CNBlockConfig(8, 16, 1), convnext.CNBlockConfig(16, None, 1)],
        num_classes=5), 16),
    "swin": (lambda: models.SwinTransformer(
        [4, 4], 8, [2], [2], [2, 2], num_classes=5), 16),
    "vit": (lambda: models.VisionTransformer(16, 8, 2, 2, 8, 16, num_classes=5), 16),
    "pyramid": (Pyramid, 16),
    "bert": (Bert, None),
}


def settle(model: torch.nn.Module) -> None:
    """Replaces initial zeros and ones by random statistics and weights."""
    for module in model.modules():
        if isinstance(module, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, ops.misc.FrozenBatchNorm2d)):
            torch.nn.init.uniform_(module.running_mean, -0.2, 0.2)
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.uniform_(module.bias, -0.2, 0.2)
    for parameter in model.parameters():
        if not parameter.detach().any():
            torch.nn.init.uniform_(parameter, -0.2, 0.2)


def write(name: str, folder: pathlib.Path) -> None:
    make, size = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    settle(model)
    x = torch.randn(2, 3, size, size) if size else torch.tensor([[5, 7, 1, 19, 2, 3], [4, 9, 8, 0, 0, 0]])
    with torch.no_grad():
        results = model(x)
    results = results if isinstance(results, list) else [results]
    numpy.save(folder / f"{name}.input.npy", x.numpy())
    for i, result in enumerate(results):
        numpy.save(folder / f"{name}.expected{i}.npy", result.numpy())
    for opset in OPSETS:
        path = folder / f"{name}.opset{opset}.onnx"
        torch.onnx.export(model, x, str(path), opset_version=opset, input_names=["x"])
        print(path.name, path.stat().st_size)


def main() -> None:
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in MODELS:
        write(name, folder)


if __name__ == "__main__":
    main()
