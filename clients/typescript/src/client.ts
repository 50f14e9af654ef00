import { Answering } from "./answering.js";
import { CompactdError, type ErrorObject, MessageTooLargeError, ServerGoneError, cancelled, isObject } from "./errors.js";
import { type ExitStatus, LineProcess, type ProcessOptions } from "./process.js";
import type { InitializeParams, InitializeResult, Methods, Notifications } from "./protocol.js";
import type { Handlers } from "./requests.js";

/** How a server is started and what the client answers. */
export interface ClientOptions extends ProcessOptions {
  /** Answers to requests of the server; they are called as methods of this object. */
  handlers?: Handlers;
  /** Gets what a listener throws. By default it is thrown on, outside of the client. */
  onError?: (error: unknown) => void;
  /**
   * Gets output that is no protocol, and replies that nobody waits for. By default they are warnings of the console,
   * unless `stderr` is `ignore`.
   */
  onStray?: (line: string) => void;
}

/** How one request is made. */
export interface RequestOptions {
  /**
   * Cancels the request. The promise still waits for what the server says: it may have finished
   * before the cancellation came; if not, it rejects with the kind `requestCancelled`. So does a
   * request whose signal was aborted before, and that is never sent.
   */
  signal?: AbortSignal;
}

interface Pending {
  /** Bytes of the message. */
  bytes: number;
  resolve: (result: never) => void;
  reject: (error: Error) => void;
}

type Listener = (params: never, method: string) => void;

/** A running compactd. */
export class Client {
  readonly #process: LineProcess;
  readonly #answering: Answering;
  readonly #options: ClientOptions;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #exited: Promise<ExitStatus | undefined>;
  #gone: ServerGoneError | undefined;
  #nextId = 1;
  /** Id of the request `initialize`, and what its result says of the bytes of a message. */
  #initializeId: number | undefined;
  #maxMessageBytes = Infinity;

  /** Starts a server. A program that cannot be started rejects the first request. */
  constructor(options: ClientOptions = {}) {
    this.#options = options;
    this.#process = new LineProcess(options, (line) => this.#receive(line));
    this.#answering = new Answering(options.handlers ?? {}, (message) => this.#send(message));
    this.#exited = this.#process.ended.then(
      (status) => this.#end(status),
      (error: Error) => this.#end(undefined, error),
    );
  }

  /** Process id of the server; undefined if it did not start. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** How the server ended, when it has; undefined if it did not start. */
  get exited(): Promise<ExitStatus | undefined> {
    return this.#exited;
  }

  /** Says `initialize`, with the capabilities that follow from the handlers. */
  initialize(params: Omit<InitializeParams, "protocolVersion">, options?: RequestOptions): Promise<InitializeResult> {
    const { names } = this.#answering;
    const hooks = names.filter((name) => name !== "summarize");
    const capabilities = { summarize: names.includes("summarize"), hooks, ...params.capabilities };
    return this.request("initialize", { processId: process.pid, ...params, protocolVersion: 1, capabilities }, options);
  }

  /**
   * Sends a request and gives its result; rejects with {@link CompactdError}, which is a {@link MessageTooLargeError}
   * for a request that the server would not read, or with {@link ServerGoneError}.
   */
  async request<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options: RequestOptions = {},
  ): Promise<Methods[M]["result"]> {
    if (options.signal?.aborted) throw cancelled();
    if (this.#gone !== undefined) throw this.#gone;
    const id = this.#nextId++;
    const cancel = () => this.notify("$/cancelRequest", { id });
    options.signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await this.#call<Methods[M]["result"]>(id, method, params);
    } finally {
      options.signal?.removeEventListener("abort", cancel);
    }
  }

  /** Sends a notification. Throws {@link MessageTooLargeError} if the server would not read it. */
  notify(method: string, params: object): void {
    this.#send({ jsonrpc: "2.0", method, params });
  }

  /**
   * Calls the listener for every notification of this name, in the order in which they came, and
   * before the reply that follows them. Gives a function that ends it.
   */
  on<N extends keyof Notifications>(name: N, listener: (params: Notifications[N]) => void): () => void {
    return this.#listen(name, listener as Listener);
  }

  /** Calls the listener for every notification, known or not. Gives a function that ends it. */
  onAny(listener: (params: unknown, method: string) => void): () => void {
    return this.#listen("*", listener as Listener);
  }

  /** Says `shutdown` and `exit`, and kills a server that has not ended `graceMs` later. */
  async shutdown(graceMs = 5000): Promise<ExitStatus | undefined> {
    const timer = setTimeout(() => this.kill(), graceMs);
    try {
      await this.request("shutdown", {});
    } catch {
      // A server that is gone or refuses is ended all the same; its status tells.
    }
    this.notify("exit", {});
    this.#process.closeInput();
    return this.#exited.finally(() => clearTimeout(timer));
  }

  /** Ends the server at once. */
  kill(): void {
    this.#process.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }

  #call<Result>(id: number, method: string, params: unknown): Promise<Result> {
    return new Promise((resolve, reject) => {
      const { text, bytes } = this.#encode({ jsonrpc: "2.0", id, method, params });
      this.#pending.set(id, { bytes, resolve, reject });
      if (method === "initialize") this.#initializeId = id;
      this.#process.write(text);
    });
  }

  #send(message: object): void {
    if (this.#gone === undefined) this.#process.write(this.#encode(message).text);
  }

  /** The text of a message. Throws for one that the server would not read. */
  #encode(message: object): { text: string; bytes: number } {
    const text = JSON.stringify(message);
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#maxMessageBytes) throw new MessageTooLargeError(bytes, this.#maxMessageBytes);
    return { text, bytes };
  }

  #listen(name: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  #receive(line: string): void {
    if (line.trim() === "") return;
    const message = parse(line);
    if (message !== undefined && typeof message.method === "string") {
      this.#receiveCall(message, message.method);
    } else if (!this.#settle(message)) {
      this.#guard(() => (this.#options.onStray ?? this.#logStray)(line));
    }
  }

  /** Reports output that nobody waits for, so that a refusal does not go unseen. */
  readonly #logStray = (line: string): void => {
    if (this.#options.stderr === "ignore") return;
    console.warn(`compactd-client: the server sent what nobody waits for: ${line.slice(0, 500)}`);
  };

  #receiveCall(message: { [member: string]: unknown }, method: string): void {
    if (message.id !== undefined) return void this.#answering.answer(message.id, method, message.params);
    if (method === "$/cancelRequest") return this.#answering.cancel(message.params);
    const listeners = [...(this.#listeners.get(method) ?? []), ...(this.#listeners.get("*") ?? [])];
    for (const listener of listeners) this.#guard(() => listener(message.params as never, method));
  }

  #settle(message: { [member: string]: unknown } | undefined): boolean {
    if (message === undefined) return false;
    const refused = MessageTooLargeError.of(message.error);
    const id = refused !== undefined && message.id === null ? this.#idOf(refused.bytes) : (message.id as number);
    const pending = this.#pending.get(id as number);
    if (pending === undefined) return false;
    this.#pending.delete(id as number);
    if (id === this.#initializeId) this.#learn(message.result);
    if (isObject(message.error)) pending.reject(refused ?? new CompactdError(message.error as unknown as ErrorObject));
    else pending.resolve(message.result as never);
    return true;
  }

  /**
   * The request of a message that the server refused unread, for which its error has no id. A message of that length is
   * never answered, so a request of that length is certainly refused.
   */
  #idOf(bytes: number): number | undefined {
    for (const [id, pending] of this.#pending) if (pending.bytes === bytes) return id;
    return undefined;
  }

  /** Takes the limit from the result of `initialize`; older servers tell none. */
  #learn(result: unknown): void {
    if (isObject(result) && typeof result.maxMessageBytes === "number") this.#maxMessageBytes = result.maxMessageBytes;
  }

  /** Keeps a listener that throws from stopping the client. */
  #guard(call: () => void): void {
    const onError = this.#options.onError ?? rethrow;
    try {
      call();
    } catch (error) {
      onError(error);
    }
  }

  #end(status: ExitStatus | undefined, cause?: Error): ExitStatus | undefined {
    this.#gone = new ServerGoneError(status, cause);
    for (const pending of this.#pending.values()) pending.reject(this.#gone);
    this.#pending.clear();
    this.#answering.cancelAll();
    return status;
  }
}

function parse(line: string): { [member: string]: unknown } | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return isObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

function rethrow(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
