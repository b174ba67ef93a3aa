# Sourced by tests/<area>/run from the top of the tree: counting, and where programs and Pythons are.
passed=0 failed=0 skipped=0
build=${RLX_BUILD:-$PWD/build}
python=$(realpath -s "${RLX_PYTHON:-.venv/bin/python}")
export RLX=${RLX:-$build/cli/rlx} RLX_BUILD=$build PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/tests/common
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1

counted() { # COMMAND...: runs it and adds the sum of its last line; one failure more where there is none
    local log last
    log=$(mktemp)
    "$@" 2>&1 | tee "$log"
    last=$(tail -n 1 "$log")
    rm "$log"
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2])) skipped=$((skipped + BASH_REMATCH[3]))
    else
        failed=$((failed + 1))
    fi
}

# The Python with tritonclient and grpcio in the versions of tests/clients/requirements.txt, in $clients_python; made at first use.
clients_python() {
    local venv=$PWD/.cache/clients-venv
    clients_python=$venv/bin/python
    cmp -s tests/clients/requirements.txt "$venv/installed.txt" && return
    rm -rf "$venv"
    "$python" -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/clients/requirements.txt &&
        cp tests/clients/requirements.txt "$venv/installed.txt"
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}
