# What every shell of a host reads first.

# The program is built already, without optimisation; whoever follows a page waits longer for theirs.
# A new package begins with the versions of the workspace, unless the newest are wanted.
cargo() {
    if [ "$1" = install ]; then
        shift
        command cargo install --debug --target-dir 'ROOT/target' "$@"
    else
        command cargo "$@" && if [ "$1" = init ] && [ -z "${NEWEST_PACKAGES:-}" ]; then cp 'ROOT/Cargo.lock' .; fi
    fi
}

# What downloads is tried three times.
retried() {
    local try
    for try in 1 2; do
        command "$@" && return
        echo "try $try of 3 failed: $*" >&2
        sleep 5
    done
    command "$@"
}
npm() {
    case "$1" in install | ci) retried npm "$@" ;; *) command npm "$@" ;; esac
}
.venv/bin/pip() {
    retried .venv/bin/pip "$@"
}
