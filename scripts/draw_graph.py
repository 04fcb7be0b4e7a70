#!/usr/bin/env python3
"""Draws the graphs of models side by side, as SVG.

usage: draw_graph.py SPARSEBIT OUT.svg [--rows N] MODEL[=TITLE] ...

The graphs are those of `sparsebit inspect MODEL --json`. Constants are left out. In a quantized
file a QuantizeLinear/DequantizeLinear pair is drawn as a green edge, and an operator between such
edges, which the runtime computes with integers, as a green box. docs/images/graph.svg is

    sparsebit quantize examples/fashion_mnist/fashion_mnist.onnx --random-data -o fashion_mnist.int8.onnx
    draw_graph.py sparsebit docs/images/graph.svg --rows 11 \\
        examples/fashion_mnist/fashion_mnist.onnx fashion_mnist.int8.onnx
"""

import argparse
import dataclasses
import html
import json
import pathlib
import subprocess

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 170, 26, 18, 20, 20
FLOAT_FILL, INTEGER_FILL, INPUT_FILL = "#eef1f5", "#d5f0dc", "#fff3d0"
FLOAT_LINE, INTEGER_LINE = "#8593a6", "#2e8b57"
SHORT = {"adaptive_avg_pool2d": "average pool"}


@dataclasses.dataclass
class Box:
    name: str
    label: str
    fill: str
    inputs: list  # (name of the box, whether the edge holds integers)
    row: int = 0
    column: int = 0


def label_of(node: dict) -> str:
    kind = node["kind"].rsplit(".", 1)[-1].removesuffix("2d").lower()
    shape = [str(size) for size in node.get("shape", [])[1:]]
    kind = SHORT.get(node["kind"], kind)
    if node["op"] == "output":
        return "output"
    return f"{kind}  {'x'.join(shape)}" if shape else kind


def is_pair(node: dict) -> bool:
    return node["kind"] in ("onnx.QuantizeLinear", "onnx.DequantizeLinear")


def boxes_of(nodes: list) -> list:
    """The nodes that depend on an input, without the pairs."""
    by_name = {node["name"]: node for node in nodes}
    active = {}

    def is_active(name: str) -> bool:
        if name not in active:
            node = by_name[name]
            active[name] = node["op"] == "placeholder" or any(map(is_active, node["inputs"]))
        return active[name]

    def source(name: str) -> tuple:
        integers = False
        while is_pair(by_name[name]):
            name, integers = by_name[name]["inputs"][0], True
        return name, integers

    boxes = []
    for node in nodes:
        if not is_active(node["name"]) or is_pair(node):
            continue
        inputs = [source(name) for name in node["inputs"] if is_active(name)]
        fill = FLOAT_FILL
        if node["op"] in ("placeholder", "output"):
            fill = INPUT_FILL
        elif inputs and all(integers for _, integers in inputs):
            fill = INTEGER_FILL
        boxes.append(Box(node["name"], label_of(node), fill, inputs))
    return boxes


def place(boxes: list, rows: int) -> list:
    """Rows by the longest path from an input; boxes of a row side by side."""
    by_name, used = {}, {}
    for box in boxes:
        by_name[box.name] = box
        box.row = max((by_name[name].row + 1 for name, _ in box.inputs), default=0)
    shown = [box for box in boxes if box.row < rows]
    for box in reversed(shown):  # the main path is the last branch: it has the most nodes
        box.column = used.get(box.row, 0)
        used[box.row] = box.column + 1
    return shown


def edge(start: Box, end: Box, integers: bool, left: float, top: float) -> str:
    def middle(box: Box) -> float:
        return left + box.column * (WIDTH + GAP_X) + WIDTH / 2

    x1, y1 = middle(start), top + start.row * (HEIGHT + GAP_Y) + HEIGHT
    x2, y2 = middle(end), top + end.row * (HEIGHT + GAP_Y) - 1
    line = INTEGER_LINE if integers else FLOAT_LINE
    if end.row - start.row > 1 and start.column == end.column:  # around the boxes in between
        side = x1 + WIDTH / 2 + GAP_X * 0.7
        path = (f"M{x1 + WIDTH / 2} {y1 - HEIGHT / 2} Q{side} {y1 - HEIGHT / 2} {side} {y1 + GAP_Y}"
                f" L{side} {y2 - GAP_Y} Q{side} {y2 + HEIGHT / 2} {x2 + WIDTH / 2 + 5} "
                f"{y2 + HEIGHT / 2}")
    elif end.row - start.row > 1 and start.column > end.column:  # down, then into its side
        y = y2 + HEIGHT / 2
        path = f"M{x1} {y1} L{x1} {y - 10} Q{x1} {y} {x1 - 10} {y} L{x2 + WIDTH / 2 + 5} {y}"
    elif x1 != x2:
        path = f"M{x1} {y1} C{x1} {y1 + GAP_Y} {x2} {y2 - GAP_Y} {x2} {y2 - 4}"
    else:
        path = f"M{x1} {y1} L{x2} {y2 - 4}"
    marker = "integers" if integers else "floats"
    return (f'<path d="{path}" fill="none" stroke="{line}" stroke-width="{2.4 if integers else 1.4}"'
            f' marker-end="url(#{marker})"/>')


def draw(title: str, boxes: list, rows: int, left: float, top: float) -> str:
    shown = place(boxes, rows)
    by_name = {box.name: box for box in shown}
    parts = [f'<text x="{left}" y="{top - 14}" font-weight="bold">{html.escape(title)}</text>']
    for box in shown:
        x, y = left + box.column * (WIDTH + GAP_X), top + box.row * (HEIGHT + GAP_Y)
        line = INTEGER_LINE if box.fill == INTEGER_FILL else FLOAT_LINE
        parts.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4" '
                     f'fill="{box.fill}" stroke="{line}"/>')
        parts.append(f'<text x="{x + WIDTH / 2}" y="{y + 17}" text-anchor="middle">'
                     f'{html.escape(box.label)}</text>')
        parts += [edge(by_name[name], box, integers, left, top) for name, integers in box.inputs]
    rest = len(boxes) - len(shown)
    if rest:
        parts.append(f'<text x="{left}" y="{top + rows * (HEIGHT + GAP_Y) + 4}" fill="#666">'
                     f'... and {rest} more nodes</text>')
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sparsebit")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("models", nargs="+")
    args = parser.parse_args()
    graphs, left, most = [], MARGIN, 0
    for item in args.models:
        model, _, title = item.partition("=")
        text = subprocess.run([args.sparsebit, "inspect", model, "--json"], check=True,
                              capture_output=True, text=True).stdout
        boxes = boxes_of(json.loads(text)["nodes"])
        graphs.append(draw(title or pathlib.Path(model).name, boxes, args.rows, left, MARGIN + 28))
        shown = [box for box in boxes if box.row < args.rows]
        most = max(most, max(box.row for box in shown) + 1)
        columns = max(box.column for box in shown) + 1
        left += columns * (WIDTH + GAP_X) + 2 * GAP_X
    width, height = left - GAP_X, MARGIN + 28 + most * (HEIGHT + GAP_Y) + 2 * MARGIN
    key = (f'<text x="{MARGIN}" y="{height - 10}" fill="#666">green: int8, from QuantizeLinear to '
           'DequantizeLinear; gray: float32</text>')
    markers = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{color}"/>'
        "</marker>" for name, color in (("integers", INTEGER_LINE), ("floats", FLOAT_LINE)))
    body = "\n".join(graphs)
    args.out.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        'font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">\n'
        f'<defs>{markers}</defs>\n<rect width="100%" height="100%" fill="white"/>\n'
        f"{body}\n{key}\n</svg>\n")


if __name__ == "__main__":
    main()
