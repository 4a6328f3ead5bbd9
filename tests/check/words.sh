#!/bin/bash
# Words that must not be in the project: paths of one machine, names of
# package hosts, and notes of work not done.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=tests/check/files.sh
. tests/check/files.sh

status=0

# refuse WHY REGEX FILE-PATTERN...
refuse() {
	local why=$1 regex=$2
	shift 2
	if project_files "$@" | xargs -0 -r grep -InE -e "$regex" -- /dev/null; then
		echo "^ $why"
		status=1
	fi
}

# Written so that this file does not match itself.
refuse 'path of one machine' \
	'(^|[^A-Za-z0-9_.])/(wor[k]|roo[t]|hom[e]/[a-z]+)/' '*'
refuse 'name of a package host' \
	'[a-z0-9-]+[.](debian|ubuntu)[.][a-z]+|(packages|mirrors?|registry|pypi|proxy)[.][a-z0-9-]+[.][a-z]+' '*'
refuse 'work not done' \
	'(^|[^A-Za-z_])(TOD[O]|FIXM[E]|XX[X])([^A-Za-z_]|$)' \
	'*.c' '*.h' '*.sh' '*.build' 'Makefile' 'scripts/*'

exit $status
