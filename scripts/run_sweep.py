#!/usr/bin/env python3
"""Checks the importers and the exporter on all of torchvision and writes the table of results.

usage: run_sweep.py --check build/release/bin/sweep --work build/sweep --table FILE.md [--resume]
                    [--forms traced,scripted] [NAME ...]

Each architecture is made and checked in its own process. Fails if a file that torch could make is
not imported and exported correctly. Results are saved in the work folder; --resume keeps those of an
earlier run and checks only missing or named architectures; with --forms, the other forms of named
architectures keep their results.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).with_name("make_sweep_models.py")
PYTHON = "/usr/bin/python3"  # Debian's torch is installed for this one
FORMS = ["traced", "scripted", "opset11", "opset13", "opset17"]
IMPORT_LIMIT, EXPORT_LIMIT = 1e-5, 1e-4


def judge(result: dict) -> str:
    """Returns "not made", "failed" or "passed"."""
    if "not_made" in result:
        return "not made"
    good = ("error" not in result and result["difference"] <= IMPORT_LIMIT
            and result["onnxruntime_difference"] <= EXPORT_LIMIT)
    return "passed" if good else "failed"


def describe(result: dict) -> str:
    if "not_made" in result:
        return result["not_made"]
    if "error" in result:
        return result["error"][:300]
    return (f"differs by {result['difference']:.1e} after import, "
            f"{result['onnxruntime_difference']:.1e} in ONNX Runtime")


def run(name: str, options: argparse.Namespace) -> list[dict]:
    folder = options.work / name
    process = subprocess.run(
        [PYTHON, str(SCRIPT), name, str(folder), "--check", options.check, "--forms",
         ",".join(options.forms)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    results = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    shutil.rmtree(folder, ignore_errors=True)
    done = {result["form"] for result in results}
    if process.returncode != 0:
        tail = (process.stderr.strip().splitlines() or ["no message"])[-1]
        results += [{"name": name, "form": form, "size": 0,
                     "error": f"making it ended with status {process.returncode}: {tail}"}
                    for form in options.forms if form not in done]
    return results


def in_order(results: list[dict]) -> list[dict]:
    return sorted(results, key=lambda result: FORMS.index(result["form"]))


def earlier_results(path: pathlib.Path) -> dict[str, list[dict]]:
    """Saved results by architecture."""
    by_name: dict[str, list[dict]] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            for result in json.loads(line):
                by_name.setdefault(result["name"], []).append(result)
    return by_name


def cell(result: dict) -> str:
    verdict = judge(result)
    if verdict != "passed":
        return verdict if verdict == "not made" else "**failed**"
    return f"{result['difference']:.0e} / {result['onnxruntime_difference']:.0e}"


def table(results: list[dict], versions: dict) -> str:
    verdicts = [judge(result) for result in results]
    made = [result for result in results if judge(result) != "not made"]
    models = list(dict.fromkeys(result["name"] for result in results))
    lines = [
        "# torchvision sweep",
        "",
        "Written by `make test-sweep`. Every classification and segmentation architecture of",
        f"torchvision {versions['torchvision']}, and the backbones of its detectors, made by torch",
        f"{versions['torch']} with random weights, are imported, run, exported to ONNX (opset 13),",
        "and run by ONNX Runtime. A cell has two differences from what torch computes, as the",
        f"largest absolute difference over the largest absolute value: after import (at most",
        f"{IMPORT_LIMIT:.0e}) / of the exported file in ONNX Runtime (at most {EXPORT_LIMIT:.0e}).",
        "",
        f"{len(models)} of {len(versions['names'])} architectures, {len(made)} files that torch "
        "could make: "
        f"**{verdicts.count('passed')} passed, {verdicts.count('failed')} failed**.",
        "",
        "| model | input | traced | scripted | opset 11 | opset 13 | opset 17 |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in models:
        by_form = {r["form"]: r for r in results if r["name"] == name}
        size = max(r["size"] for r in by_form.values())
        cells = [cell(by_form[form]) if form in by_form else "" for form in FORMS]
        lines.append(f"| {name} | 2x3x{size}x{size} | {' | '.join(cells)} |")
    missing = [name for name in versions["names"] if name not in models]
    if missing:
        lines += ["", "## Not run yet", "", ", ".join(missing)]
    for verdict, title in (("failed", "Failed"), ("not made", "Not made by torch")):
        found = [result for result in results if judge(result) == verdict]
        if found:
            lines += ["", f"## {title}", ""]
            lines += [f"- {r['name']}, {r['form']}: {describe(r)}" for r in found]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--table", required=True, type=pathlib.Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--forms", type=lambda text: text.split(","), default=FORMS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    listed = json.loads(subprocess.check_output([PYTHON, str(SCRIPT), "--list"], text=True))
    options.work.mkdir(parents=True, exist_ok=True)
    kept = options.work / "results.jsonl"
    by_name = earlier_results(kept) if options.resume else {}
    other_forms = {name: [r for r in by_name.pop(name, []) if r["form"] not in options.forms]
                   for name in options.names}
    kept.write_text("".join(json.dumps(results) + "\n" for results in by_name.values()))
    for name in options.names or listed["names"]:
        if name in by_name:
            continue
        by_name[name] = in_order(other_forms.get(name, []) + run(name, options))
        for result in by_name[name]:
            print(f"{judge(result):8} {name} {result['form']}: {describe(result)}", flush=True)
        with kept.open("a") as file:
            file.write(json.dumps(by_name[name]) + "\n")
    results = [r for name in listed["names"] for r in by_name.get(name, [])]
    options.table.write_text(table(results, listed))
    failed = sum(judge(result) == "failed" for result in results)
    print(f"{len(results)} files, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
