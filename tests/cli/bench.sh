#!/bin/bash
# weft bench measures, says so in the form that is promised, and cleans up.
# With the argument "full": bench scale in the sizes that count.
. "$(dirname "$0")/lib.sh"

mkdir "$dir/there"

# measure WHAT OPTION...: leaves the JSON in $dir/out, and nothing else.
measure() {
	weft bench "$@" --dir "$dir/there" --json >"$dir/out"
	same 1 "$(wc -l <"$dir/out")"
	same '' "$(ls "$dir/there")"
}

rows='["name", "route", "last50", "deep_last50", "deep_window", "list50", "list_created", '
rows+='"list_user", "list_project", "list_channel", "list_rare", "list_agent", "open", '
rows+='"append", "fork", "fork_past", "marker", "window"]'

if [ "${1-}" = full ]; then
	measure scale
	same '[1000, 1000, 1000000, 1000000]' \
		"$(json '[d[p][f] for p in ("small", "large") for f in ("sessions", "messages")]' <"$dir/out")"
	json '"\n".join(f"{p}: {d[p]}" for p in d)' <"$dir/out"
	# A step costs what is new in it: nothing grows a thousand times with
	# what is there; of the rare ones there are fifty instead of one.  The
	# bars themselves are for a quiet machine.
	same '[]' "$(json "[r for r in $rows if d[r]['ratio'] > (100 if r in ('list_rare', 'list_agent') else 10)]" <"$dir/out")"
	exit
fi

measure scale --small-sessions 60 --small-messages 60 --sessions 200 \
	--messages 200 --rounds 1 --milliseconds 5
same '[60, 60, 200, 200]' \
	"$(json '[d[p][f] for p in ("small", "large") for f in ("sessions", "messages")]' <"$dir/out")"
same true "$(json 'all(d[p]["bytes"] > 20000 and d[p]["build_s"] > 0 for p in ("small", "large"))' <"$dir/out")"
same "$rows" "$(json '[k for k in d if k not in ("small", "large")]' <"$dir/out")"
same true "$(json "all(set(d[r]) == {'small_us', 'large_us', 'ratio'} and
	min(d[r].values()) > 0 for r in $rows)" <"$dir/out")"
same '[600, 20, 20]' "$(json '[d["large"][f] for f in ("aliases", "forks", "markers")]' <"$dir/out")"
like 'small: 50 sessions with 3 aliases each, one of them of 50 messages *open * *append *' \
	"$(weft bench scale --dir "$dir" --small-sessions 50 --small-messages 50 \
		--sessions 50 --messages 50 --rounds 1 --milliseconds 1)"

F='["p50_us", "p99_us", "per_s", "ratio"]'
measure append --rounds 1 --milliseconds 5
same '["raw1", "raw64", "one_writer", "threads64", "inflight64", "inflight256"]' \
	"$(json '[k for k in d if k != "note"]' <"$dir/out")"
same "$F" "$(json 'sorted(d["inflight64"])' <"$dir/out")"
measure load --rounds 1 --milliseconds 5
same '["ref", "own_10k_first", "own_10k", "anthropic_10k", "last50"]' "$(json 'list(d)' <"$dir/out")"
same "$F" "$(json 'sorted(d["own_10k"])' <"$dir/out")"

measure append --store sqlite: --rounds 1 --milliseconds 5
same '["plain", "one_writer", "threads64", "inflight64", "inflight256"]' \
	"$(json 'list(d)' <"$dir/out")"
measure load --store sqlite: --rounds 1 --milliseconds 5
same true "$(json 'all(d[k]["per_s"] > 0 for k in ("ref", "own_10k"))' <"$dir/out")"
refused 2 usage '--store: bench makes its own store: *' bench append --store "sqlite:$dir/x"

# Stores that are kept are used again, if they are the ones asked for.
keep=(bench scale --keep "$dir/kept" --small-sessions 50 --small-messages 50
	--messages 50 --rounds 1 --milliseconds 1 --sessions)
weft "${keep[@]}" 50 --json >"$dir/out"
first=$(json '[d[p]["build_s"] for p in ("small", "large")]' <"$dir/out")
weft "${keep[@]}" 50 --json >"$dir/out"
same "$first" "$(json '[d[p]["build_s"] for p in ("small", "large")]' <"$dir/out")"
refused 4 exists '*/kept/large is a store of another size, or was not finished: remove it' \
	"${keep[@]}" 51
refused 2 usage '--keep goes with bench scale, *' bench append --keep "$dir/kept"

refused 2 usage '--sessions goes with bench scale' bench append --sessions 100
refused 2 usage '--messages takes 50 to 100000000' bench scale --messages 49
refused 2 usage '--small-sessions takes 50 to 100000000' bench scale --small-sessions 0
refused 2 usage '--rounds takes 1 to 31, *' bench scale --rounds 0
refused 7 io 'make a directory in *' bench scale --dir "$dir/nowhere"
