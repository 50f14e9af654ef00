import { CompactdError, cancelled, isObject, toErrorObject } from "./errors.js";
import type { Handler, Handlers } from "./requests.js";

type Send = (message: object) => void;

/** What the server may ask. */
const NAMES: Record<keyof Handlers, true> = {
  summarize: true,
  sessionBeforeCompact: true,
  sessionBeforeTree: true,
  sessionBeforeFork: true,
};

/** The requests of the server that are being answered. */
export class Answering {
  readonly #handlers: Handlers;
  readonly #send: Send;
  readonly #running = new Map<unknown, AbortController>();

  constructor(handlers: Handlers, send: Send) {
    this.#handlers = handlers;
    this.#send = send;
  }

  /** The names that are answered: those for which there is a function, be it inherited. */
  get names(): string[] {
    return Object.keys(NAMES).filter((name) => this.#find(name) !== undefined);
  }

  /** Answers a request, when its handler has. */
  async answer(id: unknown, method: string, params: unknown): Promise<void> {
    const controller = new AbortController();
    this.#running.set(id, controller);
    const outcome = await this.#run(method, params, controller.signal);
    this.#running.delete(id);
    try {
      this.#send({ jsonrpc: "2.0", id, ...outcome });
    } catch (error) {
      // JSON cannot say what the handler gave.
      this.#send({ jsonrpc: "2.0", id, error: toErrorObject(error) });
    }
  }

  /** Tells a handler that its answer is no longer wanted; it may answer all the same. */
  cancel(params: unknown): void {
    if (isObject(params)) this.#running.get(params.id)?.abort();
  }

  /** Tells all handlers that the server is gone. */
  cancelAll(): void {
    for (const controller of this.#running.values()) controller.abort();
  }

  async #run(method: string, params: unknown, signal: AbortSignal): Promise<object> {
    try {
      const handler = this.#find(method);
      if (handler === undefined) throw unknown(method);
      const result = await handler.call(this.#handlers, params, signal);
      return { result: result ?? {} };
    } catch (error) {
      return { error: toErrorObject(signal.aborted ? cancelled() : error) };
    }
  }

  #find(name: string): Handler<unknown, unknown> | undefined {
    // The map of handlers says which parameters belong to which name; here they are as they came.
    const found: unknown = Object.hasOwn(NAMES, name) ? this.#handlers[name as keyof Handlers] : undefined;
    return typeof found === "function" ? (found as Handler<unknown, unknown>) : undefined;
  }
}

function unknown(method: string): CompactdError {
  const data = { kind: "methodNotFound", method };
  return new CompactdError({ code: -32601, message: `the client does not answer ${method}`, data });
}
