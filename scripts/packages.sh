# Sourced by setup and setup-test: install Debian packages that are missing.

# Prints those of the named packages that are not installed.
missing_packages() {
	# dpkg-query fails when it knows nothing of one: that is an answer.
	{ dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || :; } |
		awk -v wanted="$*" '
			$2 == "installed" { have[$1] = 1 }
			END {
				n = split(wanted, name, " ")
				for (i = 1; i <= n; i++)
					if (!(name[i] in have))
						print name[i]
			}'
}

# Runs a command with the rights to change the system; asks for no password.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -n -- "$@"
	else
		echo "${0##*/}: must be root, or have sudo without a password, to run: $*" >&2
		return 1
	fi
}

# Runs a command, and shows what it said only if it failed.
quietly() {
	local said status=0

	said=$("$@" 2>&1) || status=$?
	if [ "$status" -ne 0 ]; then
		printf '%s\n' "$said" >&2
		echo "${0##*/}: failed: $*" >&2
	fi
	return "$status"
}

# Another apt may be at work: wait for it instead of failing.
apt_get() {
	quietly as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}

# Installs those of the named packages that are missing.
install_packages() {
	local missing

	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	# shellcheck disable=SC2086
	echo "${0##*/}: installing" $missing
	apt_get update
	# shellcheck disable=SC2086
	apt_get install --no-install-recommends $missing
}
