#!/bin/bash
# The examples of docs/ROUTING.md and docs/LIFECYCLE.md: each command, run under
# the configuration above it, prints the lines below it, those that begin with
# "weft: " as a warning or because it fails.  "ID" there is any id, "STORE" the
# store.  A configuration has a store of its own, unless it says "same store".
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
printed = []
failed = False


def fail(number, text):
    sys.exit("%s:%d: %s" % (name, number, text))


def run(number, line):
    words = shlex.split(line)
    if words[0] != "weft":
        fail(number, "not a command of weft")
    done = subprocess.run([weft] + words[1:], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    text = (done.stdout + done.stderr).replace(store, "STORE")
    text = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ID", text)
    return text.splitlines(), done.returncode != 0


for name in "docs/ROUTING.md", "docs/LIFECYCLE.md":
    with open(name, encoding="utf-8") as page:
        for number, line in enumerate(page, 1):
            line = line.rstrip("\n")
            # A command that fails is followed by what it says.
            if failed and not line.startswith("weft: "):
                fail(number, "\n".join(printed))
            failed = False
            if line.startswith("```"):
                if block and block.startswith("json"):
                    text = "\n".join(lines)
                    json.loads(text)
                    with open(config, "w", encoding="utf-8") as out:
                        out.write(text)
                    if block != "json same store":
                        shutil.rmtree(store, ignore_errors=True)
                block = None if block else line[3:]
                lines = []
            elif block == "console" and line.startswith("$ "):
                printed, failed = run(number, line[2:])
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
