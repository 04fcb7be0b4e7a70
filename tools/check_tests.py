#!/usr/bin/env python3
"""Fails when a source of src/ has no test of the same name and is not in tests_elsewhere.txt.

The test of src/a/b/c.cpp is tests/a/b/c_test.cpp or tests/a/c_test.cpp.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = pathlib.Path(__file__).resolve().parent / "tests_elsewhere.txt"

# Folders whose tests have another name: data_test is the program with real models.
TEST_FOLDERS = {"data": "model_data"}


def has_test(source: pathlib.Path) -> bool:
    """Whether a source, relative to src/, has a test of its name."""
    first, *rest = source.parts[:-1]
    folder = pathlib.Path(TEST_FOLDERS.get(first, first), *rest)
    name = source.stem + "_test.cpp"
    return any((ROOT / "tests" / parent / name).exists()
               for parent in (folder, *folder.parents) if parent != pathlib.Path("."))


def read_list() -> tuple[set[pathlib.Path], list[str]]:
    """The listed sources, relative to src/, and the errors of the list itself."""
    listed, errors = set(), []
    folder = None
    for number, line in enumerate(LIST.read_text().splitlines(), 1):
        where = f"{LIST.relative_to(ROOT)}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            new = {folder / f"{name}.cpp" for name in line.split()}
            errors += [f"{where}: {source} is listed twice" for source in sorted(new & listed)]
            listed |= new
            continue
        test, _, path = line.partition(" <- ")
        folder = pathlib.Path(path).relative_to("src")
        if not test.startswith("none: ") and not (ROOT / test).exists():
            errors.append(f"{where}: {test} does not exist")
    return listed, errors


def main() -> int:
    listed, errors = read_list()
    sources = {file.relative_to(ROOT / "src") for file in (ROOT / "src").rglob("*.cpp")}
    for source in sorted(sources):
        tested = has_test(source)
        if not tested and source not in listed:
            errors.append(f"src/{source}: has no test; expected "
                          f"tests/{source.with_name(source.stem + '_test.cpp')}")
        if tested and source in listed:
            errors.append(f"src/{source}: has a test of its name; remove it from {LIST.name}")
    errors += [f"src/{source}: does not exist; remove it from {LIST.name}"
               for source in sorted(listed - sources)]
    print("\n".join(errors) if errors else "tests: ok")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
