#!/bin/bash
# The examples of docs/ROUTING.md and docs/LIFECYCLE.md: each command, run under
# the configuration above it, prints the lines below it.  "ID" there is any id.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home"

HOME=$work/home python3 -B - "$WEFT" "$work" <<'END'
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

weft, work = sys.argv[1:]
config = os.path.join(work, "config.json")
store = os.path.join(work, "store")
env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
env.update(WEFT_CONFIG=config, WEFT_STORE="jsonl:" + store)
commands = wanted = 0
block = None
printed = ""


def fail(number, text):
    sys.exit("%s:%d: %s" % (name, number, text))


def run(number, line):
    words = shlex.split(line)
    if words[0] != "weft":
        fail(number, "not a command of weft")
    done = subprocess.run([weft] + words[1:], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode:
        fail(number, done.stderr)
    return re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ID",
                  done.stdout).splitlines()


for name in "docs/ROUTING.md", "docs/LIFECYCLE.md":
    with open(name, encoding="utf-8") as page:
        for number, line in enumerate(page, 1):
            line = line.rstrip("\n")
            if line.startswith("```"):
                if block == "json":
                    text = "\n".join(lines)
                    json.loads(text)
                    with open(config, "w", encoding="utf-8") as out:
                        out.write(text)
                    # Each configuration has a store of its own.
                    shutil.rmtree(store, ignore_errors=True)
                block = None if block else line[3:]
                lines = []
            elif block == "console" and line.startswith("$ "):
                printed = run(number, line[2:])
                commands += 1
            elif block == "console":
                wanted += 1
                if line not in printed:
                    fail(number, "not printed, but:\n" + "\n".join(printed))
            elif block:
                lines.append(line)
if commands < 20 or wanted < 30:
    sys.exit("the pages have %d commands and %d lines of output"
             % (commands, wanted))
END
