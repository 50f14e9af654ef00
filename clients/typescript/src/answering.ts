import { CompactdError, isObject, toErrorObject } from "./errors.js";
import type { Handler, Handlers } from "./requests.js";

type Send = (message: object) => void;

/** The requests of the server that are being answered. */
export class Answering {
  readonly #handlers: Handlers;
  readonly #send: Send;
  readonly #running = new Map<unknown, AbortController>();

  constructor(handlers: Handlers, send: Send) {
    this.#handlers = handlers;
    this.#send = send;
  }

  /** Answers a request, when its handler has. */
  async answer(id: unknown, method: string, params: unknown): Promise<void> {
    const controller = new AbortController();
    this.#running.set(id, controller);
    const outcome = await this.#run(method, params, controller.signal);
    this.#running.delete(id);
    this.#send({ jsonrpc: "2.0", id, ...outcome });
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
      const handler = this.#handler(method);
      const result = await handler(params, signal);
      return { result: result ?? {} };
    } catch (error) {
      return { error: signal.aborted ? cancelled() : toErrorObject(error) };
    }
  }

  #handler(method: string): Handler<unknown, unknown> {
    // The map of handlers says which parameters belong to which name; here they are as they came.
    const handler = Object.hasOwn(this.#handlers, method) ? this.#handlers[method as keyof Handlers] : undefined;
    if (handler !== undefined) return handler as Handler<unknown, unknown>;
    const data = { kind: "methodNotFound", method };
    throw new CompactdError({ code: -32601, message: `the client does not answer ${method}`, data });
  }
}

function cancelled(): object {
  return { code: -32800, message: "the request was cancelled", data: { kind: "requestCancelled" } };
}
