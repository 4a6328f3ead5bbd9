#!/bin/bash
# usage, and usage add.
. "$(dirname "$0")/lib.sh"

weft new --key work >/dev/null
sub=$(weft new --kind subagent --parent work)

same '0.0048' "$(weft usage add work --input 1200 --output 80 --cost 0.0048 \
	--json | json 'd["own"]["cost_usd"]')"
weft usage add "$sub" --cache-read 7 --cache-write 9 >/dev/null
same '[1200, 80, 7, 9, 0.0048, 1]' "$(weft usage work --json |
	json '[d["total"][k + "_tokens"] for k in ("input", "output", "cache_read", "cache_write")] + [d["total"]["cost_usd"], d["total"]["unpriced"]]')"
same 'own    1200 in, 80 out, 0 from cache, 0 to cache, 0.0048 dollars
total  1200 in, 80 out, 7 from cache, 9 to cache, 0.0048 dollars, 1 without a price' \
	"$(weft usage work)"
same "$(weft show work --json | json 'd["total"]')" \
	"$(weft usage work --json | json 'd["total"]')"

# Once is enough.
weft usage add work --cost 1 --op o1 >/dev/null
weft usage add work --cost 1 --op o1 >/dev/null
same 1.0048 "$(weft usage work --json | json 'd["own"]["cost_usd"]')"
refused 4 op_mismatch "*'o1'*" usage add work --cost 2 --op o1

refused 2 usage 'usage: SESSION is missing behind add' usage add
refused 2 usage 'usage: nothing to add; *' usage add work
refused 2 usage 'usage: --cost goes with add' usage work --cost 1
refused 2 usage "usage: 'x' is too much; *" usage work x
refused 2 usage '--input: *' usage add work --input -1
refused 2 invalid 'usage.cost_usd: *' usage add work --cost -1
refused 2 usage "--cost: expected dollars, such as 0.0125, got 'much'" usage add work --cost much
refused 3 not_found "no session 'nobody'" usage nobody
