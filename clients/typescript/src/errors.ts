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
  override readonly name = "CompactdError";
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
