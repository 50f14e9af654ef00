import { createHash } from "node:crypto";
import { Client, type ClientOptions, type RequestOptions } from "./client.js";
import { CompactdError } from "./errors.js";
import type { AutoCompactionOptions, CompactionEnd, CompactionResult, Message, RecalledEntry } from "./protocol.js";

/** Messages of a library, in the shape that a session stores and back. */
export interface Codec<M> {
  /**
   * What a session stores of a message: one stored message or several, each with the part of the
   * message that it stands for. The parts are kept beside what is stored, so nothing is lost.
   */
  toStored(message: M): { stored: Message; part: M }[];
  /** A message for what has no original, such as a summary, or another content than it, such as a shortened result. */
  fromStored(stored: Message, original: M | undefined): M;
  /** One message for parts of a message that follow each other. */
  join(parts: M[]): M;
}

/** How a history is bounded. */
export interface BoundedHistoryOptions {
  /** Tokens of the model's window. What the library sends besides messages must fit the reserve of the settings. */
  contextWindow: number;
  /** Settings of compactd, such as `compaction.reserveTokens`, `compaction.keepRecentTokens` or a model that writes summaries. */
  settings?: { [member: string]: unknown };
  /** A session file, which is made if there is none; without one the session is kept in memory. */
  path?: string;
  /** How the server is started. */
  client?: ClientOptions;
  /** Hears of every compaction. */
  onCompaction?: (end: CompactionEnd) => void;
}

/** The context does not fit the window, although all was done that could be done. */
export class ContextTooLargeError extends Error {
  override readonly name = "ContextTooLargeError";

  constructor(
    readonly tokens: number,
    readonly contextWindow: number,
    cause?: unknown,
  ) {
    super(`the context has ${tokens} tokens, and the window ${contextWindow}: there is nothing left to compact`, { cause });
  }
}

/** A message of the library that the session has. */
interface Known {
  group: number;
  digest: string;
  lastEntryId: string;
  role: string;
}

/** What is stored beside a message, so that it can be given back as it was. */
interface Origin {
  /** Names the message of the library that this is of. */
  group: number;
  digest: string;
  /** Number of the parts of that message. */
  parts: number;
  part: unknown;
}

/**
 * A conversation that a library keeps, and that always fits the window of its model: older messages
 * give way to a summary, tool results that are too large are shortened. The session keeps them all.
 */
export class BoundedHistory<M> {
  /** The server; `recall`, for example, gives back what was compacted away. */
  readonly client: Client;
  readonly #codec: Codec<M>;
  readonly #options: BoundedHistoryOptions;
  #sessionId = "";
  #ready: Promise<void> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** All messages that the session has on its current branch. */
  #known: Known[] = [];
  /** Digests of what was given last. */
  #given: string[] = [];
  #groups = 0;
  #tokens = 0;
  #contextWindow: number;
  /** The window that the server knows. */
  #knownWindow: number;
  /** Compactions that have ended, and who waits for others to. */
  readonly #ended = new Map<string, CompactionEnd>();
  readonly #waiting = new Map<string, (end: CompactionEnd) => void>();
  #failure: unknown;

  constructor(codec: Codec<M>, options: BoundedHistoryOptions) {
    this.#codec = codec;
    this.#options = options;
    this.#contextWindow = this.#knownWindow = options.contextWindow;
    this.client = new Client(options.client);
    this.client.on("compactionEnd", (end) => this.#hear(end));
  }

  /** Id of the session on the server; empty before the first call of `fit`. */
  get sessionId(): string {
    return this.#sessionId;
  }

  /** Estimated tokens of the messages that `fit` gave last. */
  get tokens(): number {
    return this.#tokens;
  }

  /**
   * The messages that the model is to see in place of these: all of them while they fit, else a
   * summary and the latest. Takes either the whole conversation or what it gave last with what came
   * since. One that was changed somewhere before its end goes on as a new branch from there.
   */
  fit(messages: M[]): Promise<M[]> {
    return this.#inTurn(() => this.#fit(messages));
  }

  /** Tokens of the model's window. A new value counts from the next call of `fit` on. */
  get contextWindow(): number {
    return this.#contextWindow;
  }

  set contextWindow(tokens: number) {
    this.#contextWindow = tokens;
  }

  /** Compacts now, whether or not the context is near its limit. */
  compact(customInstructions?: string, options?: RequestOptions): Promise<CompactionResult> {
    return this.#inTurn(async () => {
      await this.#opened();
      const result = await this.client.request("compact", { sessionId: this.#sessionId, customInstructions }, options);
      return result as CompactionResult;
    });
  }

  /** What compactions took out of the context and matches the query, word for word. */
  recall(query: string): Promise<RecalledEntry[]> {
    return this.#inTurn(async () => {
      await this.#opened();
      return (await this.client.request("recall", { sessionId: this.#sessionId, query })).entries;
    });
  }

  /** Ends the server. */
  async close(): Promise<void> {
    await this.client.shutdown();
  }

  /** One after the other, whatever the library does at once. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  #opened(): Promise<void> {
    return (this.#ready ??= this.#open());
  }

  async #fit(messages: M[]): Promise<M[]> {
    await this.#opened();
    await this.#tellWindow();
    const digests = messages.map(digest);
    for (const index of await this.#newFrom(digests)) await this.#append(messages[index]!, digests[index]!);
    const context = await this.client.request("getContext", { sessionId: this.#sessionId, format: "llm" });
    const { tokens } = context.tokens;
    this.#tokens = tokens;
    if (tokens > this.#contextWindow) throw new ContextTooLargeError(tokens, this.#contextWindow, this.#failure);
    const given = this.#restore(context.messages as Message[], new Map(digests.map((one, index) => [one, messages[index]!])));
    this.#given = given.map(digest);
    return given;
  }

  async #open(): Promise<void> {
    const { path, settings = {} } = this.#options;
    await this.client.initialize({ clientInfo: { name: "compactd-client" }, settings });
    this.#knownWindow = this.#contextWindow;
    const session = await this.#openOrCreate(path, autoCompaction(this.#knownWindow));
    this.#sessionId = session.sessionId;
    const { entries } = await this.client.request("getBranch", { sessionId: this.#sessionId });
    for (const entry of entries) this.#learn(entry.id, entry.message as Message | undefined);
  }

  async #tellWindow(): Promise<void> {
    if (this.#contextWindow === this.#knownWindow) return;
    const contextWindow = this.#contextWindow;
    await this.client.request("updateSettings", { sessionId: this.#sessionId, autoCompaction: autoCompaction(contextWindow) });
    this.#knownWindow = contextWindow;
  }

  async #openOrCreate(path: string | undefined, autoCompaction: AutoCompactionOptions): Promise<{ sessionId: string }> {
    if (path === undefined) return this.client.request("createSession", { ephemeral: true, autoCompaction });
    try {
      return await this.client.request("openSession", { path, autoCompaction });
    } catch (error) {
      if (!(error instanceof CompactdError) || error.kind !== "sessionNotFound") throw error;
      return this.client.request("createSession", { path, autoCompaction });
    }
  }

  /** Positions of the messages that the session does not have. */
  async #newFrom(digests: string[]): Promise<number[]> {
    const positions = digests.map((_, index) => index);
    const continues = this.#given.length > 0 && this.#given.every((one, index) => one === digests[index]);
    if (continues) return positions.slice(this.#given.length);
    const changed = this.#known.findIndex(({ digest }, index) => digest !== digests[index]);
    return positions.slice(changed < 0 ? this.#known.length : await this.#goBack(changed));
  }

  /** Goes back to where the session had this many messages. Gives how many it has then. */
  async #goBack(count: number): Promise<number> {
    // Who goes to a message of the person is placed before it.
    while (count > 0 && this.#known[count - 1]!.role === "user") count--;
    const target = this.#known[Math.max(count - 1, 0)]!;
    if (count === 0 && target.role !== "user") throw new Error("the first message was changed, which only works for one of the user");
    await this.client.request("navigateTree", { sessionId: this.#sessionId, targetId: target.lastEntryId });
    this.#known.length = count;
    return count;
  }

  async #append(message: M, digest: string): Promise<void> {
    const group = this.#groups++;
    const all = this.#codec.toStored(message);
    for (const { stored, part } of all) {
      const origin: Origin = { group, digest, parts: all.length, part };
      const params = { sessionId: this.#sessionId, message: { timestamp: Date.now(), ...stored, origin } };
      const { entryId, compaction } = await this.client.request("appendMessage", params);
      this.#learn(entryId, params.message);
      if (compaction?.operationId) await this.#settled(compaction.operationId);
    }
  }

  /** Waits for the end of a compaction. A failure matters only if the context is too large without it. */
  async #settled(operationId: string): Promise<void> {
    const ended = new Promise<CompactionEnd>((resolve) => this.#waiting.set(operationId, resolve));
    const end = this.#ended.get(operationId) ?? (await Promise.race([ended, this.client.exited]));
    this.#failure = end !== undefined && "error" in end ? end.error : undefined;
    this.#waiting.delete(operationId);
    this.#ended.delete(operationId);
  }

  #hear(end: CompactionEnd): void {
    this.#ended.set(end.operationId, end);
    this.#waiting.get(end.operationId)?.(end);
    this.#options.onCompaction?.(end);
  }

  #learn(lastEntryId: string, stored: Message | undefined): void {
    const origin = originOf(stored);
    if (stored === undefined || origin === undefined) return;
    const { group, digest } = origin;
    const last = this.#known.at(-1);
    if (last?.group === group) last.lastEntryId = lastEntryId;
    else this.#known.push({ group, digest, lastEntryId, role: stored.role });
    this.#groups = Math.max(this.#groups, group + 1);
  }

  /** The messages of the library for those of a context; one that the caller has at hand is given back as the very same. */
  #restore(context: Message[], atHand: Map<string, M>): M[] {
    const groups: Message[][] = [];
    for (const stored of context) {
      const before = originOf(groups.at(-1)?.[0])?.group;
      if (before !== undefined && before === originOf(stored)?.group) groups.at(-1)!.push(stored);
      else groups.push([stored]);
    }
    return groups.map((some) => {
      const origin = originOf(some[0]);
      const parts = some.map((stored) => this.#part(stored));
      const whole = origin !== undefined && parts.length === origin.parts && parts.every(({ isWhole }) => isWhole);
      const same = whole ? atHand.get(origin.digest) : undefined;
      return same ?? this.#codec.join(parts.map(({ part }) => part));
    });
  }

  /** The part of a message that a stored one is, and whether it is there as it was: large tool results are shortened. */
  #part(stored: Message): { part: M; isWhole: boolean } {
    const original = originOf(stored)?.part as M | undefined;
    const isWhole = original !== undefined && this.#isWhole(stored, original);
    return { part: isWhole ? original : this.#codec.fromStored(stored, original), isWhole };
  }

  #isWhole(stored: Message, part: M): boolean {
    const contents = this.#codec.toStored(part).map((one) => one.stored.content);
    return contents.length === 1 && JSON.stringify(contents[0]) === JSON.stringify(stored.content);
  }
}

function autoCompaction(contextWindow: number): AutoCompactionOptions {
  return { model: { provider: "host", id: "model", contextWindow } };
}

function originOf(stored: Message | undefined): Origin | undefined {
  return stored?.origin as Origin | undefined;
}

function digest(message: unknown): string {
  return createHash("sha256").update(JSON.stringify(message)).digest("base64");
}
