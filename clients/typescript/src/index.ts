/** Client of compactd: starts the program and speaks JSON-RPC with it over its pipes. */
export { BinaryNotFoundError, findBinary } from "./binary.js";
export { Client, type ClientOptions, type RequestOptions } from "./client.js";
export {
  BoundedHistory,
  type BoundedHistoryOptions,
  type Codec,
  ContextTooLargeError,
} from "./bounded-history.js";
export { CompactdError, MessageTooLargeError, ServerGoneError } from "./errors.js";
export type { ExitStatus } from "./process.js";
export type * from "./requests.js";
export * from "./protocol.js";
