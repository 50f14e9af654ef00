#!/bin/sh
# A model that writes slowly, for the tests of the editors: so there is progress to see.
cat >/dev/null
say() { printf '%s\n' "$1"; sleep 0.1; }
say '## Goal'
say '- Add a --json flag to the report command; the old output stays the default.'
say '## Constraints & Preferences'
say '- Field names are those of the web page: total_cost.'
say '## Progress'
say '### Done'
say '- [x] src/report.py has the flag.'
say '### In Progress'
say '- (none)'
say '### Blocked'
say '- (none)'
say '## Key Decisions'
say '- JSON on several lines: one line breaks tests/test_report.py.'
say '## Next Steps'
say '1. Test the flag.'
say '## Critical Context'
say '- pytest runs the tests.'
