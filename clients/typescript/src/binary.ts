import { accessSync, constants, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";

/** There is no program `compactd` to start. The message says what to do. */
export class BinaryNotFoundError extends Error {
  override readonly name = "BinaryNotFoundError";
}

const PROGRAM = "compactd";

/** The package that holds the program for this platform. */
const PLATFORM_PACKAGE = `@compactd/${process.platform}-${process.arch}`;

/**
 * The path of the program: what COMPACTD_BIN names, else the one that npm installed beside this
 * package, else `compactd` on the path. Throws {@link BinaryNotFoundError} if there is none.
 */
export function findBinary(env: NodeJS.ProcessEnv = process.env): string {
  const found = env.COMPACTD_BIN || findInstalledBinary() || findOnPath(env.PATH ?? "");
  if (found === undefined) throw new BinaryNotFoundError(advice());
  return found;
}

/** The path of the program that npm installed beside this package; undefined if it installed none. */
export function findInstalledBinary(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${PLATFORM_PACKAGE}/package.json`);
    return join(dirname(manifest), "bin", PROGRAM);
  } catch {
    return undefined;
  }
}

/** What a person does where there is no program. */
export function advice(): string {
  return (
    `no program compactd was found: the optional package ${PLATFORM_PACKAGE} is not installed, and COMPACTD_BIN is not set. ` +
    "Install again without --omit=optional, or build the program with `cargo install compactd`, " +
    "or set COMPACTD_BIN to its path."
  );
}

function findOnPath(path: string): string | undefined {
  const candidates = path.split(delimiter).filter((directory) => directory !== "");
  return candidates.map((directory) => join(directory, PROGRAM)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
