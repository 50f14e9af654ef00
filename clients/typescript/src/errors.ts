import type { ErrorKind } from "./protocol.js";
import type { ExitStatus } from "./process.js";

/** An error as JSON-RPC carries it. */
export interface ErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

/** The server refused a request, or a handler of ours refuses one of the server. */
export class CompactdError extends Error {
  override readonly name: string = "CompactdError";
  /** Number of the error; `errorCodes` lists them. */
  readonly code: number;
  /** The ids and numbers needed to act. */
  readonly data: { [member: string]: unknown };

  constructor(error: ErrorObject) {
    super(error.message);
    this.code = error.code;
    this.data = isObject(error.data) ? error.data : {};
  }

  /** Name of the error; a newer server may have others than those listed. */
  get kind(): ErrorKind | (string & {}) | undefined {
    return typeof this.data.kind === "string" ? this.data.kind : undefined;
  }
}

const TOO_LARGE = "messageTooLarge";

/**
 * A message is over the limit of the server, which did not read it. As a rule it was not even sent, because the
 * result of `initialize` tells the limit.
 */
export class MessageTooLargeError extends CompactdError {
  override readonly name = "MessageTooLargeError";

  /** `bytes` of the message, without its line end, and `limit` of the server. */
  constructor(
    readonly bytes: number,
    readonly limit: number,
  ) {
    const message = `a message of ${bytes} bytes is over the server's limit of ${limit} bytes`;
    const data = { kind: "invalidRequest", reason: TOO_LARGE, retryable: false, bytes, limit };
    super({ code: -32600, message, data });
  }

  /** The refusal of a message that the server did not read; undefined for other errors. */
  static of(error: unknown): MessageTooLargeError | undefined {
    const data = isObject(error) && isObject(error.data) ? error.data : {};
    if (data.reason !== TOO_LARGE || typeof data.bytes !== "number" || typeof data.limit !== "number") return undefined;
    return new MessageTooLargeError(data.bytes, data.limit);
  }
}

/** The server has ended, or could not be started. Every request that waited is rejected with this. */
export class ServerGoneError extends Error {
  override readonly name = "ServerGoneError";
  /** How it ended; undefined if it did not start. */
  readonly status: ExitStatus | undefined;

  constructor(status: ExitStatus | undefined, cause?: Error) {
    super(reason(status, cause), { cause });
    this.status = status;
  }
}

/** What a handler threw, as the server gets it. */
export function toErrorObject(error: unknown): ErrorObject {
  if (error instanceof CompactdError) {
    return { code: error.code, message: error.message, data: error.data };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: -32603, message, data: { kind: "internalError" } };
}

/** Says that a request was cancelled, as the server says it. */
export function cancelled(): CompactdError {
  return new CompactdError({ code: -32800, message: "the request was cancelled", data: { kind: "requestCancelled" } });
}

export function isObject(value: unknown): value is { [member: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function reason(status: ExitStatus | undefined, cause: Error | undefined): string {
  if (status === undefined) return `the server did not start: ${cause?.message ?? "unknown reason"}`;
  return status.signal === null ? `the server ended with code ${status.code}` : `the server was ended by ${status.signal}`;
}
