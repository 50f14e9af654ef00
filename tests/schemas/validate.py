"""Validates each frame of a file against its schema with jsonschema: python validate.py SCHEMAS FRAMES"""

import json
import sys
from functools import cache
from pathlib import Path

from jsonschema import Draft7Validator


@cache
def validator(schemas: str, name: str) -> Draft7Validator:
    schema = json.loads(Path(schemas, f"{name}.json").read_text())
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def main(schemas: str, frames: str) -> bool:
    count = wrong = 0
    with open(frames, encoding="utf-8") as lines:
        for line in lines:
            frame = json.loads(line)
            errors = list(validator(schemas, frame["schema"]).iter_errors(frame["value"]))
            count += 1
            wrong += bool(errors)
            if errors:
                shown = "; ".join(f"{error.json_path} {error.message[:200]}" for error in errors)
                print(f"{frame['case']}: {frame['schema']}: {shown}\n  {json.dumps(frame['value'])[:300]}")
    print(f"{count} frames, {validator.cache_info().currsize} schemas, {wrong} wrong")
    return wrong == 0 and count > 0


sys.exit(0 if main(*sys.argv[1:]) else 1)
