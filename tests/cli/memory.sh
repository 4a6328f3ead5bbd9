#!/bin/bash
# memory: add, list, search, forget.
. "$(dirname "$0")/lib.sh"

id=$(weft new --key work --project /srv/x)
same '' "$(weft memory list --session work)"
like $'*\tsession\tprefers short answers' \
	"$(weft memory add --session work '  prefers short answers ')"
printf 'tests:\nmake check\n' | weft memory add --project /srv/x/ >/dev/null
all=$(weft memory add 'speaks English' --title language --source user --json |
	json 'd["memories"][0]["id"]')
same 'speaks English|tests: make check|prefers short answers' \
	"$(weft memory list --session work | cut -f3 | paste -sd'|')"
same '["project", null, "/srv/x", "tests:", "tests:\nmake check", null]' \
	"$(weft memory list --scope project --session work --json |
		json '[d["memories"][0][k] for k in "scope session project_dir title content source".split()]')"
same "$id" "$(weft memory list --scope session --session work --json |
	json 'd["memories"][0]["session"]')"

# The current directory is a project.
mkdir "$dir/project"
(cd "$dir/project" && weft memory add --scope project here) >/dev/null
same here "$(cd "$dir/project" && weft memory list --scope project | cut -f3)"
same here "$(weft memory list --scope project --project "$dir/project" | cut -f3)"

same 'speaks English' "$(weft memory search LANGUAGE | cut -f3)"
same 'prefers short answers' \
	"$(weft memory search 'answers prefers' --session work | cut -f3)"
like "$all"$'\tglobal\tspeaks English\tforgotten' "$(weft memory forget "$all")"
same '' "$(weft memory list)"
same forgotten "$(weft memory list --deleted | cut -f4)"
refused 3 memory_not_found "no memory $all" memory forget "$all"

refused 2 usage 'memory: expected one of add|list|search|forget, *' memory learn x
refused 2 usage 'memory: TEXT to search for is missing' memory search
refused 2 usage 'memory: list takes no TEXT; search does' memory list x
refused 2 usage 'memory: the id of what to forget is missing' memory forget
refused 2 usage 'memory: --title does not go with list' memory list --title x
refused 2 usage 'memory: --limit does not go with add' memory add x --limit 1
refused 2 invalid 'content: may not be blank' memory add ' '
refused 2 invalid 'session: needed for memories of a session' \
	memory add x --scope session
refused 3 not_found "no session 'nobody'" memory add x --session nobody

# A line that cannot be read any more does not hide those before it.
weft new --key chain >/dev/null
for n in 1 2 3 4; do
	weft memory add --session chain "thing $n" >/dev/null
	for i in {1..80}; do
		echo "{\"role\":\"user\",\"content\":\"words $i\"}"
	done | weft append chain --jsonl >/dev/null
done
file=$(weft show chain --json | json 'd["path"]')
sed -i 's/.*thing 3.*/gone with the wind/' "$file"
same 'thing 1|thing 2|thing 4' "$(weft memory list --scope session \
	--session chain | cut -f3 | paste -sd'|')"
sed -i 's/.*thing 4.*/gone as well/' "$file"
same 'thing 1|thing 2' "$(weft memory list --scope session \
	--session chain | cut -f3 | paste -sd'|')"
