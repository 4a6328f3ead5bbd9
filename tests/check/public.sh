#!/bin/bash
# The public face: the libraries export what the headers declare and nothing
# else; every function has a comment of its own and a test; the list of methods
# is complete, and its examples work.
set -euo pipefail

built=$(dirname "$WEFT")/src
status=0

complain() {
	echo "$*"
	status=1
}

# A declaration may go over several lines.
declared=$(cat include/weft/*.h | tr '\n\t' '  ' |
	grep -oE 'WEFT_API (const|int|size_t|struct|void) [^(;]*\(' | grep -oE '[a-z_]+\($' | tr -d '(' | sort)
[ "$(wc -l <<<"$declared")" -ge 25 ] || complain "few functions: $declared"

# same_as_declared FILE: compares with names on standard input.
same_as_declared() {
	diff <(echo "$declared") <(sort) || complain "^ < declared, > exported by $1"
}
nm -D --defined-only "$built/libweft.so" | awk '{ print $3 }' | same_as_declared libweft.so
nm -g --defined-only "$built/libweft.a" | awk 'NF == 3 { print $3 }' | same_as_declared libweft.a

# A comment ends on the line before each of them.
uncommented=$(awk '/^WEFT_API / && before !~ /[*]\/$/ { print FILENAME ":" FNR ": no comment: " $0 }
	{ before = $0 }' include/weft/*.h)
[ -z "$uncommented" ] || complain "$uncommented"

for function in $declared; do
	grep -rqw --include='*.[ch]' -e "$function" tests/unit tests/conformance ||
		complain "$function: no test uses it"
done

LD_LIBRARY_PATH=$built python3 -B - <<'END' || status=1
import re
import sys

sys.path.insert(0, "examples")
import call

page = open("docs/API.md").read()
sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", page, re.M | re.S))
wrong = []
with call.Store("memory:") as store:
    methods = store.call("methods")["methods"]
    if sorted(m["name"] for m in methods) != sorted(sections):
        wrong.append("the methods of docs/API.md are not those of the door")
    for method in methods:
        for field in method["fields"]:
            if f"`{field['name']}`" not in sections.get(method["name"], ""):
                wrong.append(f"{method['name']}: no {field['name']} in docs/API.md")
    # What the page shows as a request is one.
    store.call("new", key="work")
    requests = re.findall(r'^    (\{"method":.*?\})\n\n', page, re.M | re.S)
    for request in requests:
        try:
            fields = call.json.loads(request)
            store.call(fields.pop("method"), **fields)
        except (ValueError, call.WeftError) as error:
            wrong.append(f"{request}: {error}")
    if not requests:
        wrong.append("docs/API.md has no example")
print(*wrong, sep="\n", end="\n" if wrong else "")
sys.exit(bool(wrong))
END
exit $status
