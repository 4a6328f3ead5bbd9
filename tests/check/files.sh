# Sourced by the checks: print the project's own files that match one of the
# patterns, NUL between them, new ones included and ignored ones not.
project_files() {
	if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git ls-files -z --cached --others --exclude-standard -- "$@"
	else
		# Not a clone, or somebody else's.
		local pattern first='' names=()

		for pattern; do
			names+=($first -path "./$pattern")
			first=-o
		done
		find . \( -path './build*' -o -path ./.git \) -prune -o \
			-type f \( "${names[@]}" \) -printf '%P\0'
	fi | while IFS= read -r -d '' file; do
		# Deleted, but not yet from the index.
		[ ! -f "$file" ] || printf '%s\0' "$file"
	done
}
