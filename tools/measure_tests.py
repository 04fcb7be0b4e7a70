#!/usr/bin/env python3
"""Runs the tests one after the other and prints the CPU seconds (user + system, child processes
included) of each, the largest first. CPU time hardly depends on what else runs on the machine.

  tools/measure_tests.py build/release                all tests
  tools/measure_tests.py build/release cli core       those whose names match a regular expression
  tools/measure_tests.py build/release --most 60      fails if one takes more than 60 seconds
"""

import argparse
import json
import os
import re
import subprocess
import sys


def tests_of(build: str) -> list[dict]:
    listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, check=True,
                            capture_output=True, text=True)
    tests = [test for test in json.loads(listed.stdout)["tests"] if "command" in test]
    for test in tests:
        test["properties"] = {p["name"]: p["value"] for p in test.get("properties", [])}
    # Fixtures first: other tests use what they install.
    return sorted(tests, key=lambda test: "FIXTURES_SETUP" not in test["properties"])


def seconds_of(test: dict) -> tuple[float, bool]:
    """The CPU time of one test, and whether it passed."""
    properties = test["properties"]
    variables = dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))
    process = subprocess.Popen(test["command"], cwd=properties.get("WORKING_DIRECTORY"),
                               env={**os.environ, **variables}, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, process.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="the build folder, such as build/release")
    parser.add_argument("names", nargs="*", help="regular expressions of whole test names")
    parser.add_argument("--most", type=float, help="CPU seconds that no test may exceed")
    options = parser.parse_args()

    rows = []
    for test in tests_of(options.build):
        if options.names and not any(re.fullmatch(name, test["name"]) for name in options.names):
            continue
        seconds, passed = seconds_of(test)
        rows.append((seconds, test["name"], passed))
        print(f"{test['name']} ...", file=sys.stderr)
    for seconds, name, passed in sorted(rows, reverse=True):
        print(f"{seconds:8.1f}  {name}{'' if passed else '  FAILED'}")
    print(f"{sum(row[0] for row in rows):8.1f}  total")
    too_slow = [name for seconds, name, _ in rows if options.most and seconds > options.most]
    if too_slow:
        print(f"more than {options.most:g} CPU seconds: {', '.join(too_slow)}", file=sys.stderr)
    return 1 if too_slow or not all(passed for _, _, passed in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
