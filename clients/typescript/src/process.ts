import { type ChildProcess, spawn } from "node:child_process";
import { findBinary } from "./binary.js";
import { LineSplitter } from "./lines.js";

/** How a process ended. */
export interface ExitStatus {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** How a server is started. */
export interface ProcessOptions {
  /** The program; by default the one that `findBinary` finds. */
  command?: string;
  /** Its arguments. */
  args?: string[];
  /** Its whole environment; that of this process by default. */
  env?: NodeJS.ProcessEnv;
  /** Its working directory. */
  cwd?: string;
  /** Where its log goes; the standard error of this process by default. */
  stderr?: "inherit" | "ignore" | number;
  /**
   * Starts the server in a process group of its own, so that Ctrl-C in a terminal does not end it
   * together with this process. It ends with its input all the same, however this process ends.
   */
  ownProcessGroup?: boolean;
}

/** Milliseconds to wait for the rest of the output of a process that has ended. */
const REST_MS = 1000;

/** A child that speaks in lines. */
export class LineProcess {
  /** Settles when the process has ended and its output is read; rejects if it did not start. */
  readonly ended: Promise<ExitStatus>;
  readonly #child: ChildProcess | undefined;

  constructor(options: ProcessOptions, onLine: (line: string) => void) {
    try {
      this.#child = start(options);
    } catch (error) {
      this.ended = Promise.reject(error);
      return;
    }
    const lines = new LineSplitter();
    this.#child.stdout?.on("data", (bytes: Buffer) => lines.push(bytes).forEach(onLine));
    // A write to a process that has ended fails here; its end is told by `ended`.
    this.#child.stdin?.on("error", () => {});
    this.ended = end(this.#child);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Sends one line. */
  write(line: string): void {
    this.#child?.stdin?.write(`${line}\n`);
  }

  /** Closes the input of the process, which makes a server end. */
  closeInput(): void {
    this.#child?.stdin?.end();
  }

  kill(): void {
    this.#child?.kill("SIGKILL");
  }
}

/** Throws where there is no program to start. */
function start(options: ProcessOptions): ChildProcess {
  const { args = [], env, cwd, stderr = "inherit", ownProcessGroup: detached = false } = options;
  const command = options.command ?? findBinary(env);
  return spawn(command, args, { env, cwd, detached, stdio: ["pipe", "pipe", stderr], windowsHide: true });
}

function end(child: ChildProcess): Promise<ExitStatus> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => {
      if (child.pid === undefined) reject(error);
    });
    child.once("close", (code, signal) => resolve({ code, signal }));
    // Children of the process may hold the output open, so its end is not awaited for ever.
    child.once("exit", (code, signal) => setTimeout(() => resolve({ code, signal }), REST_MS).unref());
  });
}
