#!/usr/bin/env python3
"""Checks what the command writes to a terminal: colours, and progress that fits its width.

usage: terminal_check.py PROGRAM
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

program = sys.argv[1]
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


def environment(**more):
    plain = {name: value for name, value in os.environ.items()
             if name not in ("NO_COLOR", "CLICOLOR_FORCE", "XTERM_VERSION")}
    return {**plain, "TERM": "xterm-256color", **more}


def on_terminal(*arguments, columns=80, **more):
    """What `program` writes to a terminal that is `columns` wide."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([program, *arguments], stdin=there, stdout=there, stderr=there,
                               env=environment(**more))
    os.close(there)
    text = b""
    while True:
        try:
            part = os.read(here, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(here)
    process.wait()
    return text.decode()


def in_pipe(*arguments, **more):
    done = subprocess.run([program, *arguments], capture_output=True, text=True,
                          env=environment(**more))
    return done.stdout + done.stderr


missing = ("inspect", "/nowhere/m.onnx")
check("\x1b[31merror:\x1b[0m /nowhere" in on_terminal(*missing), "error: is not red")
for name, more in (("NO_COLOR", {"NO_COLOR": "1"}), ("TERM=dumb", {"TERM": "dumb"}),
                   ("no TERM", {"TERM": ""})):
    check("\x1b" not in on_terminal(*missing, **more), f"colours with {name}")
check("\x1b" not in in_pipe(*missing), "colours in a pipe")
check("\x1b[31merror:" in in_pipe(*missing, CLICOLOR_FORCE="1"), "CLICOLOR_FORCE does nothing")
check("\x1b" not in in_pipe(*missing, CLICOLOR_FORCE="1", NO_COLOR="1"),
      "CLICOLOR_FORCE counts more than NO_COLOR")

warned = on_terminal("inspect", "zoo:resnet20", "--skip", "neck*")
check("\x1b[33mwarning:\x1b[0m --skip" in warned, "warning: is not yellow")
check("\x1b" not in on_terminal("inspect", "zoo:resnet20", "--json"), "colours in JSON")

with tempfile.TemporaryDirectory() as folder:
    quantize = ("quantize", "zoo:resnet20", "--random-data", "-o", f"{folder}/m.onnx")
    for columns in (80, 40, 20):
        text = on_terminal(*quantize, columns=columns)
        drawn = re.findall(r"\r(calibrating[^\r\x1b]*)\x1b\[K", text)
        check(drawn, f"{columns} columns: no progress")
        check(all(len(line) < columns for line in drawn), f"{columns} columns: {drawn}")
        check(text.count("calibrating") == len(drawn), f"{columns} columns: {text!r}")
    text = on_terminal(*quantize, TERM="dumb")
    check("calibrating: done" in text and "\x1b" not in text, f"TERM=dumb: {text!r}")

print("\n".join(failures) if failures else "1 passed, 0 failed")
sys.exit(1 if failures else 0)
