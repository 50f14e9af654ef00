// A registry for npm on this machine: it has the packages of one directory (name, version and dependencies are read
// from their package.json) and sends npm on to another registry for all others. Prints its address.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const [directory, elsewhere] = process.argv.slice(2);
const packages = new Map();
for (const file of readdirSync(directory).filter((name) => name.endsWith(".tgz"))) {
  const path = join(directory, file);
  const manifest = JSON.parse(execFileSync("tar", ["-xzOf", path, "package/package.json"], { encoding: "utf8" }));
  const integrity = `sha512-${createHash("sha512").update(readFileSync(path)).digest("base64")}`;
  packages.set(manifest.name, { path, file, manifest, integrity });
}

const server = createServer((request, response) => {
  const name = decodeURIComponent(request.url.slice(1));
  const found = packages.get(name);
  const archive = [...packages.values()].find(({ file }) => request.url === `/-/${file}`);
  if (archive) response.end(readFileSync(archive.path));
  else if (found) response.end(JSON.stringify(describe(found)));
  // Packages of other platforms are not there; npm leaves them out, as it does where one was never published.
  else if (name.startsWith("@compactd/")) response.writeHead(404).end("{}");
  else response.writeHead(302, { location: new URL(request.url, elsewhere).href }).end();
});

function describe({ manifest, file, integrity }) {
  const dist = { tarball: `http://127.0.0.1:${server.address().port}/-/${file}`, integrity };
  const { name, version } = manifest;
  // Older than any date that npm is told with `before`.
  const time = { [version]: "2000-01-01T00:00:00.000Z" };
  return { name, time, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } };
}

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
// The server ends with whoever started it.
process.stdin.resume().on("end", () => process.exit());
