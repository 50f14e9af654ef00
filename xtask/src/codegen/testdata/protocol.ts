// Generated from the server's OpenRPC document by `cargo xtask protocol`. Do not edit.

/** What to do. */
export type Action =
  /** Nothing. */
  | "none"
  /** Compact. */
  | "compact";

/**
 * Parameters of `compact`. A longer sentence that has to be broken somewhere, with a sign that
 * ends comments: * / and a quote: """.
 */
export interface CompactParams {
  /** The session. */
  sessionId: string;
  /** What | to do. */
  action: Action;
  /** Anything. */
  any?: unknown;
  /** How many. */
  count?: number | null;
  inline?: {
  flag: boolean;
};
  messages?: Array<Message>;
  ratio?: number;
  settings?: FreeObject | null;
}

/** Done or started. */
export type CompactResult = Tree | NoParams;

export type FreeObject = { [member: string]: unknown };

export type Kind = "a" | "b";

/** A message. */
export interface Message {
  role: string;
  [member: string]: unknown;
}

export type NameOrNames = string | Array<string>;

/** None. */
export type NoParams = Record<string, never>;

export interface Summary {
  /** What `<b>` [is] <b>. */
  text: string;
  type: Kind;
  by?: NameOrNames;
  counts?: Record<string, number>;
  model?: Tree | null;
  [member: string]: unknown;
}

/** Refers to itself. */
export interface Tree {
  children: Array<Tree>;
  "$ref-like"?: string;
  /** A keyword of Python. */
  from?: string;
  kind?: Kind;
}

/** Parameters and result of every method. */
export interface Methods {
  /** Puts a summary in the place of the older part. */
  compact: { params: CompactParams; result: CompactResult };
  /** The document. */
  "rpc.discover": { params: NoParams; result: FreeObject };
  /** Ends. */
  shutdown: { params: NoParams; result: null };
}

/** Parameters of every notification. */
export interface Notifications {
  /** The leaf moved. */
  leafChanged: Tree;
  /** An entry was written. */
  entryAppended: Message;
}

/** Codes of the errors by their kind. */
export const errorCodes = {
  /** not JSON */
  parseError: -32700,
  /** No session. */
  sessionNotFound: 1001,
} as const;

/** The kinds of errors. */
export type ErrorKind = keyof typeof errorCodes;
