// Validates each frame of a file against its schema with ajv: node validate.mjs SCHEMAS FRAMES
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";

const [schemas, frames] = process.argv.slice(2);
const ajv = new Ajv({ strict: true, strictRequired: false, allowUnionTypes: true, validateFormats: false });
ajv.addVocabulary(["x-nullDiffers"]);
const validators = new Map();

// The server ignores unknown members of requests and answers. What the server sends has no member that its schema
// does not name, unless the schema allows additional members.
const OF_CLIENT = /^(?!(summarize|sessionBefore).*).*\.params$|^(summarize|sessionBefore).*\.result$/;

function closed(schema) {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== "object") return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([name, member]) => [name, closed(member)]));
  if (copy.type === "object" && !("additionalProperties" in copy)) copy.additionalProperties = false;
  return copy;
}

function validator(name) {
  if (!validators.has(name)) {
    const schema = JSON.parse(readFileSync(join(schemas, `${name}.json`), "utf8"));
    validators.set(name, ajv.compile(OF_CLIENT.test(name) ? schema : closed(schema)));
  }
  return validators.get(name);
}

let count = 0;
let wrong = 0;
for (const line of readFileSync(frames, "utf8").split("\n").filter(Boolean)) {
  const frame = JSON.parse(line);
  const validate = validator(frame.schema);
  count += 1;
  if (!validate(frame.value)) {
    wrong += 1;
    const errors = validate.errors.map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`);
    console.log(`${frame.case}: ${frame.schema}: ${errors.join("; ")}\n  ${JSON.stringify(frame.value).slice(0, 300)}`);
  }
}
console.log(`${count} frames, ${validators.size} schemas, ${wrong} wrong`);
process.exitCode = wrong === 0 && count > 0 ? 0 : 1;
