import { type ChildProcess, spawn } from "node:child_process";
import {
  type CancellationToken,
  type MessageConnection,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
  createMessageConnection,
} from "vscode-jsonrpc/node";

/** How the server is started. */
export interface ServerOptions {
  command: string;
  cwd: string;
  /** Settings over those of the settings files. */
  settings: object;
  agentDir?: string;
  /** Gets what the server writes to its log. */
  onLog: (text: string) => void;
  onNotification: (method: string, params: Params) => void;
}

export type Params = { [member: string]: any };

/** A running compactd. */
export class Server {
  readonly #process: ChildProcess;
  readonly #connection: MessageConnection;
  readonly #failed: Promise<never>;
  readonly #ready: Promise<unknown>;
  /** Whether it has ended; the next request then needs another one. */
  ended = false;

  constructor(options: ServerOptions) {
    this.#process = spawn(options.command, { cwd: options.cwd, stdio: "pipe" });
    const { stdin, stdout, stderr } = this.#process;
    this.#connection = createMessageConnection(new StreamMessageReader(stdout!), new StreamMessageWriter(stdin!));
    this.#connection.onNotification((method, params) => options.onNotification(method, (params ?? {}) as Params));
    // A write to a server that has ended fails; its end is told by the request.
    this.#connection.onError(() => {});
    stderr!.on("data", (bytes: Buffer) => options.onLog(bytes.toString()));
    this.#failed = new Promise<never>((_, reject) => {
      this.#process.once("error", (error) => reject(notStarted(options.command, error)));
      this.#process.once("close", (code) => reject(new Error(`the server ended with code ${code}`)));
    });
    this.#failed.catch(() => {
      this.ended = true;
    });
    this.#connection.listen();
    const hello = { protocolVersion: 1, clientInfo: { name: "vscode" }, processId: process.pid, cwd: options.cwd };
    const params = { ...hello, settings: options.settings, agentDir: options.agentDir };
    // A request that is written to a program that did not start fails where nobody can catch it.
    const started = new Promise((resolve) => this.#process.once("spawn", resolve));
    this.#ready = Promise.race([started, this.#failed]).then(() => this.#send("initialize", params));
    // Every request waits for it and tells of its failure.
    this.#ready.catch(() => {});
  }

  /** Sends a request and gives its result. A token that is cancelled cancels it on the server. */
  async request(method: string, params: Params, token?: CancellationToken): Promise<Params> {
    await this.#ready;
    return (await this.#send(method, params, token)) as Params;
  }

  /** Ends the server. */
  async stop(): Promise<void> {
    this.ended = true;
    try {
      await this.request("shutdown", {});
      await this.#connection.sendNotification("exit", {});
    } catch {
      // It is gone already, or never started.
    }
    this.#process.stdin?.end();
    this.#connection.dispose();
  }

  #send(method: string, params: Params, token?: CancellationToken): Promise<unknown> {
    const reply = token
      ? this.#connection.sendRequest(method, params, token)
      : this.#connection.sendRequest(method, params);
    return Promise.race([reply, this.#failed]);
  }
}

/** What a person reads of a failure. */
export function reason(error: unknown): string {
  if (error instanceof ResponseError) {
    const { kind } = (error.data ?? {}) as Params;
    return kind === undefined ? error.message : `${error.message} (${kind})`;
  }
  return error instanceof Error ? error.message : String(error);
}

function notStarted(command: string, error: NodeJS.ErrnoException): Error {
  if (error.code !== "ENOENT") return error;
  return new Error(
    `there is no program ${command}: install it by \`npm install --global compactd-client\`, ` +
      "`pip install compactd-client` or `cargo install compactd`, or set compactd.path",
  );
}
