#!/bin/bash
# Every C file is exactly as clang-format would write it.  `make format` does.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=tests/check/files.sh
. tests/check/files.sh

project_files '*.c' '*.h' | xargs -0 -r -n 40 clang-format --dry-run -Werror
