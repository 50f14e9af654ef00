import { createHash } from "node:crypto";
import { Client, type ClientOptions, type RequestOptions } from "./client.js";
import { CompactdError } from "./errors.js";
import { preferringHost } from "./host-model.js";
import type { AnyMessage, AutoCompactionOptions, CompactionEnd, CompactionResult, MessageFormat, RecalledEntry } from "./protocol.js";
import type { Handlers } from "./requests.js";

/** Messages of a library as messages of a format that the server takes. */
export interface Codec<M> {
  /** The format that is the closest to the library's own. */
  format: MessageFormat;
  /** The message in this format, as JSON. Its own members that the format does not have come back, too. */
  toFormat(message: M): AnyMessage;
  /** A message for one in this format: one of `toFormat`, a summary, or a shortened result. */
  fromFormat(message: AnyMessage): M;
}

/** How a history is bounded. */
export interface BoundedHistoryOptions {
  /** Tokens of the model's window. What the library sends besides messages must fit the reserve of the settings. */
  contextWindow: number;
  /** Settings of compactd, such as `compaction.reserveTokens`, `compaction.keepRecentTokens` or a model that writes summaries. */
  settings?: { [member: string]: unknown };
  /**
   * Asks a model with this window for a summary. It is asked unless the settings or a settings file choose a summarizer.
   * If it throws, or writes no summary, the built-in summarizer does.
   */
  summarize?: Handlers["summarize"];
  /** Settings that the settings files override. Default with `summarize`: its model writes, then the built-in summarizer. */
  defaultSettings?: { [member: string]: unknown };
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

/** A message of the library that the session has, and the last of its entries. */
interface Known {
  digest: string;
  entryId: string;
}

/** The member of a sent message that tells it from others. */
const DIGEST = "compactdDigest";
/** Maximum messages of one call. */
const AT_ONCE = 10_000;

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
  #tokens = 0;
  #contextWindow: number;
  /** The window that the server knows. */
  #knownWindow: number;
  /** Whether the window for summaries goes along: it is that of the default settings made here, not one that somebody has set. */
  #summariesFollow = false;
  /** Compactions that have ended, and who waits for others to. */
  readonly #ended = new Map<string, CompactionEnd>();
  readonly #waiting = new Map<string, (end: CompactionEnd) => void>();
  #failure: unknown;

  constructor(codec: Codec<M>, options: BoundedHistoryOptions) {
    this.#codec = codec;
    this.#options = options;
    this.#contextWindow = this.#knownWindow = options.contextWindow;
    const { client, summarize } = options;
    this.client = new Client(summarize === undefined ? client : { ...client, handlers: { ...client?.handlers, summarize } });
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
    const sent = messages.map((message) => this.#codec.toFormat(message));
    const digests = sent.map(digest);
    const from = await this.#newFrom(digests);
    for (let at = from; at < sent.length; at += AT_ONCE) {
      await this.#append(sent.slice(at, at + AT_ONCE), digests.slice(at, at + AT_ONCE));
    }
    const format = this.#codec.format === "pi" ? "llm" : this.#codec.format;
    const context = await this.client.request("getContext", { sessionId: this.#sessionId, format });
    const { tokens } = context.tokens;
    this.#tokens = tokens;
    if (tokens > this.#contextWindow) throw new ContextTooLargeError(tokens, this.#contextWindow, this.#failure);
    const atHand = new Map(digests.map((one, index) => [one, messages[index]!]));
    const given = context.messages.map(({ [DIGEST]: sent, ...one }) => {
      // A result that was shortened keeps its other members.
      const same = sent === digest(one) ? atHand.get(sent) : undefined;
      return same ?? this.#codec.fromFormat(one);
    });
    this.#given = given.map((message) => digest(this.#codec.toFormat(message)));
    return given;
  }

  async #open(): Promise<void> {
    const { path, settings = {}, summarize, defaultSettings } = this.#options;
    // It may change meanwhile.
    const contextWindow = this.#contextWindow;
    const defaults = defaultSettings ?? (summarize ? preferringHost(contextWindow) : null);
    const { settings: merged } = await this.client.initialize({ clientInfo: { name: "compactd-client" }, settings, defaultSettings: defaults });
    const isOwn = summaryWindow(settings) === undefined && defaultSettings === undefined && summarize !== undefined;
    this.#summariesFollow = isOwn && summaryWindow(merged) === contextWindow;
    this.#knownWindow = contextWindow;
    const session = await this.#openOrCreate(path, autoCompaction(contextWindow));
    this.#sessionId = session.sessionId;
    await this.#learn();
  }

  async #tellWindow(): Promise<void> {
    if (this.#contextWindow === this.#knownWindow) return;
    const contextWindow = this.#contextWindow;
    const model = { sessionId: this.#sessionId, autoCompaction: autoCompaction(contextWindow) };
    const { settings } = await this.client.request("updateSettings", model);
    if (this.#summariesFollow && summaryWindow(settings) === this.#knownWindow) {
      await this.client.request("updateSettings", { settings: { compactd: { summarize: { contextWindow } } } });
    }
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

  /** The position of the first message that the session does not have. */
  async #newFrom(digests: string[]): Promise<number> {
    const continues = this.#given.length > 0 && this.#given.every((one, index) => one === digests[index]);
    if (continues) return this.#given.length;
    const changed = this.#known.findIndex(({ digest }, index) => digest !== digests[index]);
    return changed < 0 ? this.#known.length : this.#goBack(changed);
  }

  /** Goes back to where the session had this many messages, or fewer. Gives how many it has then. */
  async #goBack(count: number): Promise<number> {
    // Messages of one entry go together.
    while (count > 0 && this.#known[count - 1]!.entryId === this.#known[count]?.entryId) count--;
    const { entryId } = this.#known[Math.max(count - 1, 0)]!;
    await this.client.request("navigateTree", { sessionId: this.#sessionId, targetId: entryId });
    // Who goes to a message of the person is placed before it.
    await this.#learn();
    if (this.#known.length > count) throw new Error("the first message was changed, which only works for one of the user");
    return this.#known.length;
  }

  async #append(sent: AnyMessage[], digests: string[]): Promise<void> {
    const messages = sent.map((one, index) => ({ ...one, [DIGEST]: digests[index] }));
    const params = { sessionId: this.#sessionId, format: this.#codec.format, messages };
    const { entryIds, sources, compaction } = await this.client.request("appendMessages", params);
    let last = 0;
    digests.forEach((digest, index) => {
      // A message may become several entries, and several messages one.
      while (last + 1 < sources.length && sources[last + 1]! <= index) last++;
      this.#known.push({ digest, entryId: entryIds[last]! });
    });
    if (compaction?.operationId) await this.#settled(compaction.operationId);
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

  /** Learns what the session has. Originals of converted messages are stored in the first entry of each, others are entries. */
  async #learn(): Promise<void> {
    this.#known = [];
    const { entries } = await this.client.request("getBranch", { sessionId: this.#sessionId });
    for (const { id: entryId, message } of entries) {
      const { part = 0, linked, original = linked ?? [(message ?? {}) as AnyMessage] } = (message as { compactd?: Mark } | undefined)?.compactd ?? {};
      if (part > 0 && this.#known.length > 0) this.#known.at(-1)!.entryId = entryId;
      for (const { [DIGEST]: digest } of original) if (typeof digest === "string") this.#known.push({ digest, entryId });
    }
  }
}

/** The window of the model that writes summaries, where the settings have one. */
function summaryWindow(settings: object): number | undefined {
  return (settings as { compactd?: { summarize?: { contextWindow?: number } } }).compactd?.summarize?.contextWindow;
}

function autoCompaction(contextWindow: number): AutoCompactionOptions {
  return { model: { provider: "host", id: "model", contextWindow } };
}

/** How the server marks messages that it has converted. */
interface Mark {
  part?: number;
  original?: AnyMessage[];
  linked?: AnyMessage[];
}

function digest(message: AnyMessage): string {
  return createHash("sha256").update(JSON.stringify(message)).digest("base64");
}
