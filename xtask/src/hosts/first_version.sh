# The packages and the conformance cases of the last commit with protocol 1.0, against the server of today.
# COMPACTD_BIN names the server. The history of the repository is needed.
commits=$(git log --reverse --format=%H -S protocolMinorVersion -- protocol/openrpc.json)
first=${commits%%[[:space:]]*}
export LC_ALL=C
test -n "$first" || { echo "the history lacks protocol 1.0; --without first-version leaves it out"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
git archive "$first^" clients/python clients/typescript tests/conformance | tar -x -C "$place"

(cd "$place/clients/python" && python3 -W error -m unittest)
(cd "$place/clients/typescript" && npm ci --silent && npm run --silent build && node --test dist/test/client.test.js)

# What protocol/CHANGELOG.md lists as changed: messages that no context would show are refused, and `reason` is a name.
# `expected` in the data of an error is a text for people.
cat > "$place/changed.txt" <<'END'
append_message/a block of an unknown type is stored as it is
append_message/a message: a role of the future
append_message/a message: unknown members and blocks
get_context/an object is no name of a format
odd_files/a directory is no session
odd_files/a file of the system is no session
odd_files/a pipe is no session
odd_files/an endless device is no session
summarizer_chains/an answer that is cut twice is rejected
END
cp tests/conformance/runner.py "$place/tests/conformance"
if python3 "$place/tests/conformance/runner.py" > "$place/report.txt"; then echo "cases that changed pass again"; exit 1; fi
tail -n 1 "$place/report.txt"
# A person's message is compacted for by now. The case expects that of the answer after it, and whether the compaction
# has ended by then is a matter of time.
early='auto_compaction/what a person has undone is not done again before the next request'
grep -E ' \((lines|headers)\): ' "$place/report.txt" | sed -E 's/ \((lines|headers)\): .*//' | grep -vFx "$early" \
  | sort -u > "$place/differs.txt"
diff "$place/changed.txt" "$place/differs.txt"
