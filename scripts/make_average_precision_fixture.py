#!/usr/bin/env python3
"""Writes tests/metrics/fixtures/average_precision.json: boxes and their AP by pycocotools.

Needs the PyPI packages numpy and pycocotools (made with 2.0.11):

    python3 scripts/make_average_precision_fixture.py

The boxes are random: objects, detections near them or not, several of the same score, detections
of classes that have no object, crowds, images without objects and images without detections.
"""

import contextlib
import io
import json
import pathlib
import random

from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests/metrics/fixtures/average_precision.json"
CLASSES = 5
CLASS_WITHOUT_OBJECTS = 4


def random_box(rng):
    width, height = rng.uniform(8, 120), rng.uniform(8, 120)
    left, top = rng.uniform(0, 300 - width), rng.uniform(0, 300 - height)
    return [round(x, 2) for x in (left, top, left + width, top + height)]


def near(rng, box):
    """The box with each corner moved by up to a fifth of its size."""
    width, height = box[2] - box[0], box[3] - box[1]
    moves = [rng.uniform(-0.2, 0.2) * size for size in (width, height, width, height)]
    return [round(x + move, 2) for x, move in zip(box, moves)]


def make_image(rng, number):
    truth, found = [], []
    if number % 7 != 3:
        for _ in range(rng.randint(1, 12)):
            truth.append({"box": random_box(rng), "label": rng.randrange(CLASS_WITHOUT_OBJECTS),
                          "crowd": rng.random() < 0.12})
    if number % 11 != 5:
        for box in truth:
            for _ in range(rng.randint(0, 4 if box["crowd"] else 2)):
                found.append({"box": near(rng, box["box"]), "label": box["label"],
                              "score": round(rng.uniform(0.2, 1), 1 if number % 2 else 3)})
        for _ in range(rng.randint(0, 8)):
            found.append({"box": random_box(rng), "label": rng.randrange(CLASSES),
                          "score": round(rng.uniform(0, 0.8), 2)})
    if number == 2:  # more than 100 of a class
        found += [{"box": random_box(rng), "label": 0, "score": round(rng.uniform(0.3, 0.9), 2)}
                  for _ in range(130)]
    return {"truth": truth, "found": found}


def as_coco(box):
    return [box[0], box[1], box[2] - box[0], box[3] - box[1]]


def evaluate(images):
    annotations, results = [], []
    for number, image in enumerate(images):
        for truth in image["truth"]:
            box = as_coco(truth["box"])
            annotations.append({"id": len(annotations) + 1, "image_id": number,
                                "category_id": truth["label"], "bbox": box,
                                "area": box[2] * box[3], "iscrowd": int(truth["crowd"])})
        for found in image["found"]:
            results.append({"image_id": number, "category_id": found["label"],
                            "bbox": as_coco(found["box"]), "score": found["score"]})
    coco = COCO()
    coco.dataset = {"images": [{"id": i} for i in range(len(images))], "annotations": annotations,
                    "categories": [{"id": i} for i in range(CLASSES)]}
    coco.createIndex()
    judge = COCOeval(coco, coco.loadRes(results), "bbox")
    judge.evaluate()
    judge.accumulate()
    judge.summarize()
    precision = judge.eval["precision"][:, :, :, 0, 2]  # IoU, recall, class; all areas, 100 each
    classes = []
    for label in range(CLASSES):
        if precision[0, 0, label] < 0:
            continue  # no objects
        classes.append({"label": label, "ap": precision[:, :, label].mean(),
                        "ap50": precision[0, :, label].mean()})
    return {"map": judge.stats[0], "map50": judge.stats[1], "classes": classes}


def main():
    rng = random.Random(17)
    images = [make_image(rng, number) for number in range(30)]
    with contextlib.redirect_stdout(io.StringIO()):
        expected = evaluate(images)
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(json.dumps(image, separators=(",", ":")) for image in images)
    OUTPUT.write_text('{"made_with": "scripts/make_average_precision_fixture.py",\n"expected": '
                      + json.dumps(expected) + ',\n"images": [\n' + rows + "\n]}\n")


if __name__ == "__main__":
    main()
