/**
 * A plugin for opencode: compactd writes the summaries of compactions, with the model of opencode, and `recall` gives the agent back
 * what they took out. opencode alone stores the conversation. compactd has sessions of it in memory, which are read from opencode
 * when they are needed.
 */
import type { Client } from "./client.js";
import { CompactdError } from "./errors.js";
import { type HostModel, startServer, stopReason, toldFailures, withServer } from "./host-model.js";
import type { AnyMessage, CompactionResult, NewEntry, RecalledEntry, SummarizeParams, SummarizeResult, Usage } from "./protocol.js";

/** The part of opencode's API that is used here, as the types of `@opencode-ai/plugin` have it. */
interface Input {
  directory: string;
  client: {
    session: {
      messages(options: { path: { id: string } }): Promise<Reply<Stored[]>>;
      message(options: { path: { id: string; messageID: string } }): Promise<Reply<Stored>>;
      create(options: { body: { parentID: string; title: string } }): Promise<Reply<{ id: string }>>;
      prompt(options: { path: { id: string }; body: { agent: string; model: ModelName; parts: Part[] } }): Promise<Reply<Stored>>;
      abort(options: { path: { id: string } }): Promise<unknown>;
      delete(options: { path: { id: string } }): Promise<unknown>;
    };
    app: { agents(): Promise<Reply<{ name: string; model?: ModelName }[]>> };
    config: { providers(): Promise<Reply<{ providers: { id: string; models: Record<string, { limit: Limit }> }[] }>> };
    tui: { showToast(options: { body: { message: string; variant: "warning" } }): Promise<unknown> };
  };
}

type Reply<Data> = { data?: Data; error?: unknown };
type ModelName = { providerID: string; modelID: string };
/** Tokens of a model; 0 where they are not known. */
type Limit = { context: number; input?: number; output: number };

/** A message of opencode with its parts. */
interface Stored {
  info: {
    id: string;
    sessionID: string;
    role: string;
    parentID?: string;
    summary?: unknown;
    finish?: string;
    error?: { name: string; data?: { message?: string } };
    model?: ModelName;
    tokens?: { input: number; output: number; reasoning: number; cache: { read: number; write: number } };
    time: { completed?: number };
  };
  parts: Part[];
}

type Part = { type: string; [member: string]: any };

/** Starts the plugin. The options are settings of compactd that override its settings files. */
export default async function compactd(input: Input, options: Record<string, unknown> = {}): Promise<object> {
  const sessions = new Sessions(input, options);
  const requests = new ModelRequests(input);
  /** Sessions whose compaction has begun, with what decides about the request for the summary. */
  const begun = new Map<string, { prompt?: string }>();
  /** Summaries by the id of the message that asks for the compaction. */
  const summaries = new Map<string, string>();

  /** Compactions that run, by their session. */
  const running = new Map<string, AbortController>();

  const warn = async (message: string): Promise<void> => {
    await input.client.tui.showToast({ body: { message: `compactd: ${message}`, variant: "warning" } }).catch(() => {});
  };

  return {
    "experimental.session.compacting": async ({ sessionID }: { sessionID: string }, output: { prompt?: string }) => {
      if (!requests.stop(sessionID)) begun.set(sessionID, output);
    },
    // Called with the messages of a compaction right after its beginning, and with those of every other request.
    "experimental.chat.messages.transform": async (_: unknown, { messages }: { messages: Stored[] }) => {
      const [first] = messages;
      if (first === undefined) return begun.clear();
      const output = begun.get(first.info.sessionID);
      begun.delete(first.info.sessionID);
      if (output === undefined) return restore(messages, summaries);
      const { sessionID } = first.info;
      const stop = new AbortController();
      running.set(sessionID, stop);
      try {
        const { markerId, result } = await sessions.summarize(sessionID, messages.at(-1)!.info.id, requests, stop.signal);
        summaries.set(markerId, result.summary);
        const failed = toldFailures(result);
        if (failed !== undefined) await warn(failed);
      } catch (error) {
        if (stop.signal.aborted) return;
        const kind = error instanceof CompactdError ? ` (${error.kind})` : "";
        return warn(`${error instanceof Error ? error.message : error}${kind}; opencode summarises by itself`);
      } finally {
        // A newer compaction of the session may run.
        if (running.get(sessionID) === stop) running.delete(sessionID);
      }
      // opencode asks a model in any case. Its answer gives way to the summary.
      output.prompt = "Answer with the single word: done";
      messages.length = 0;
    },
    "experimental.text.complete": async ({ sessionID, messageID }: { sessionID: string; messageID: string }, output: { text: string }) => {
      if (summaries.size === 0) return;
      const { data } = await input.client.session.message({ path: { id: sessionID, messageID } });
      output.text = summaryFor(data, summaries) ?? output.text;
    },
    "experimental.chat.system.transform": async ({ sessionID }: { sessionID?: string }, { system }: { system: string[] }) => {
      const prompt = requests.systemPrompt(sessionID);
      if (prompt !== undefined) system.splice(0, system.length, prompt);
    },
    event: async ({ event: { type, properties } }: { event: { type: string; properties?: { sessionID?: string; info?: { id?: string } } } }) => {
      const id = properties?.sessionID ?? properties?.info?.id;
      if (id === undefined) return;
      // opencode waits for the hook no longer.
      if (["session.idle", "session.error", "session.deleted"].includes(type)) running.get(id)?.abort();
      if (type === "session.deleted") await sessions.forget(id);
    },
    tool: {
      recall: {
        description:
          "Finds what compactions took out of this conversation: messages and results of tools, word for word. " +
          "Use it when the summary lacks a detail, before you ask the user or read a file again.",
        args: { query: { type: "string", description: "Words to look for, such as names, paths, numbers or a part of an error." } },
        execute: async ({ query }: { query: string }, { sessionID }: { sessionID: string }) =>
          told(await sessions.recall(sessionID, query)),
      },
    },
    dispose: () => {
      for (const stop of running.values()) stop.abort();
      return sessions.stop();
    },
  };
}

/** The summary that belongs into a message; undefined if it is no summary of compactd. */
function summaryFor(message: Stored | undefined, summaries: Map<string, string>): string | undefined {
  return message?.info.summary === true ? summaries.get(message.info.parentID ?? "") : undefined;
}

/** A summary whose text opencode has not taken over is put into the request. */
function restore(messages: Stored[], summaries: Map<string, string>): void {
  for (const message of messages) {
    const text = summaryFor(message, summaries);
    if (text === undefined || textOf(message) === text) continue;
    const { id: messageID, sessionID } = message.info;
    message.parts = [{ id: `prt_${messageID}`, type: "text", messageID, sessionID, text }];
  }
}

function told(entries: RecalledEntry[]): string {
  if (entries.length === 0) return "Nothing that compactions took out of this conversation matches.";
  return entries.map(({ role, type, text }) => `[${role ?? type}]\n${text}`).join("\n\n");
}

/** Requests of compactd to the model, each of which is a session of opencode as long as it lasts. */
class ModelRequests {
  readonly #client: Input["client"];
  /** By the id of the session. */
  readonly #requests = new Map<string, { systemPrompt: string; isTooLarge: boolean }>();

  constructor({ client }: Input) {
    this.#client = client;
  }

  /** The prompt that the request of this session has in place of opencode's; undefined for other sessions. */
  systemPrompt(id: string | undefined): string | undefined {
    return this.#requests.get(id ?? "")?.systemPrompt;
  }

  /** Stops a request, which opencode would compact because it is too large. Gives whether the session is one. */
  stop(id: string): boolean {
    const request = this.#requests.get(id);
    if (request === undefined) return false;
    request.isTooLarge = true;
    // It waits for the hook that calls this.
    this.#abort(id);
    return true;
  }

  /** Stops what runs in a session. Where that fails, the answer comes, and is not taken. */
  #abort(id: string): void {
    this.#client.session.abort({ path: { id } }).catch(() => {});
  }

  /** The model that writes opencode's summaries of a session; undefined if it is not known. */
  async model(sessionID: string, marker: Stored): Promise<HostModel | undefined> {
    if (marker.info.model === undefined) return undefined;
    const agents = (await this.#client.app.agents()).data ?? [];
    const model = agents.find(({ name }) => name === AGENT)?.model ?? marker.info.model;
    const { providers = [] } = (await this.#client.config.providers()).data ?? {};
    const limit = providers.find(({ id }) => id === model.providerID)?.models[model.modelID]?.limit;
    return { contextWindow: limit === undefined ? 0 : inputTokens(limit), summarize: (params, signal) => this.#ask(sessionID, model, params, signal) };
  }

  async #ask(parentID: string, model: ModelName, { systemPrompt, prompt }: SummarizeParams, signal: AbortSignal): Promise<SummarizeResult> {
    // One with a parent is neither listed nor shared.
    const { id } = of(await this.#client.session.create({ body: { parentID, title: "Summary by compactd" } }));
    const path = { id };
    const stop = () => this.#abort(id);
    signal.addEventListener("abort", stop);
    const request = { systemPrompt, isTooLarge: false };
    this.#requests.set(id, request);
    try {
      signal.throwIfAborted();
      const answer = of(await this.#client.session.prompt({ path, body: { agent: AGENT, model, parts: [{ type: "text", text: prompt }] } }));
      const { error, finish, tokens } = answer.info;
      if (request.isTooLarge) throw new Error("the request is too large for opencode's model");
      if (error !== undefined) throw new Error(`opencode's model failed: ${error.data?.message ?? error.name}`);
      return { text: textOf(answer), stopReason: stopReason(finish), ...(tokens && { usage: usage(tokens) }) };
    } finally {
      signal.removeEventListener("abort", stop);
      this.#requests.delete(id);
      // A session that stays is no reason to lose the summary, or the error.
      await this.#client.session.delete({ path }).catch(() => {});
    }
  }
}

/** The agent of opencode that has no tools, and perhaps a model of its own for summaries. */
const AGENT = "compaction";
/** Tokens of an answer that opencode asks for at most. */
const MOST_OUTPUT = 32_000;

/** Tokens of a request that leave room for the answer as opencode reckons it. */
function inputTokens({ context, input = context, output }: Limit): number {
  return Math.max(input - Math.min(output || MOST_OUTPUT, MOST_OUTPUT), Math.floor(input / 2));
}

function usage({ input, output, reasoning, cache }: NonNullable<Stored["info"]["tokens"]>): Usage {
  const written = output + reasoning;
  return { input, output: written, cacheRead: cache.read, cacheWrite: cache.write, totalTokens: input + written + cache.read + cache.write };
}

function of<Data>({ data, error }: Reply<Data>): Data {
  if (data === undefined) throw new Error(`opencode answers with an error: ${JSON.stringify(error)}`);
  return data;
}

/** A session of compactd that has the messages of one of opencode's. */
class Mirror {
  /** Ids of messages, and the first entry of each. */
  readonly entries = new Map<string, string>();

  private constructor(
    readonly client: Client,
    readonly sessionId: string,
  ) {}

  static async create(client: Client): Promise<Mirror> {
    return new Mirror(client, (await client.request("createSession", { ephemeral: true })).sessionId);
  }

  /** Whether the messages begin with those that the session has. */
  isPartOf(messages: Stored[]): boolean {
    return [...this.entries.keys()].every((id, index) => id === messages[index]?.info.id);
  }

  /** Adds the messages that it lacks. */
  async take(messages: Stored[]): Promise<void> {
    for (const message of messages.slice(this.entries.size)) {
      this.entries.set(message.info.id, await add(this.client, this, message, messages));
    }
  }
}

/** What compactd does with the sessions of opencode. */
class Sessions {
  readonly #input: Input;
  readonly #settings: Record<string, unknown>;
  /** Sessions of one server for `recall`, which is started when it is needed first. */
  readonly #mirrors = new Map<string, Mirror>();
  #client: Promise<Client> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(input: Input, settings: Record<string, unknown>) {
    this.#input = input;
    this.#settings = settings;
  }

  /** Summarizes all messages up to this one. Gives the id of the message that asks for it, too. */
  async summarize(
    id: string,
    lastMessageId: string,
    requests: ModelRequests,
    signal: AbortSignal,
  ): Promise<{ markerId: string; result: CompactionResult }> {
    const messages = await this.#messages(id);
    const marker = messages.filter(isMarker).at(-1);
    const last = messages.findIndex(({ info }) => info.id === lastMessageId);
    if (marker === undefined || last < 0) throw new Error(`session ${id} lacks the messages of its compaction`);
    const model = await requests.model(id, marker);
    // A server of its own knows the window of the model, and waits for the model alone.
    return withServer(this.#host(model), async (client) => {
      const mirror = await Mirror.create(client);
      await mirror.take(messages);
      // What stays begins behind the last message, at the latest with the one that asks for the compaction.
      const firstKept = messages.slice(last + 1).find(({ info }) => mirror.entries.has(info.id)) ?? marker;
      const firstKeptEntryId = mirror.entries.get(firstKept.info.id);
      const result = await client.request("compact", { sessionId: mirror.sessionId, force: true, firstKeptEntryId }, { signal });
      return { markerId: marker.info.id, result: result as CompactionResult };
    });
  }

  /** What compactions took out of a session and matches the query. */
  recall(id: string, query: string): Promise<RecalledEntry[]> {
    return this.#inTurn(async () => {
      const { client, sessionId } = await this.#mirror(id, await this.#messages(id));
      return (await client.request("recall", { sessionId, query })).entries;
    });
  }

  forget(id: string): Promise<void> {
    return this.#inTurn(() => this.#close(id));
  }

  async stop(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    this.#client = undefined;
    await client?.shutdown();
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** The messages of a session of opencode, without those that are still being written. */
  async #messages(id: string): Promise<Stored[]> {
    const { data, error } = await this.#input.client.session.messages({ path: { id } });
    if (data === undefined) throw new Error(`opencode does not give the messages of session ${id}: ${JSON.stringify(error)}`);
    let end = data.length;
    while (end > 0 && data[end - 1]!.info.role !== "user" && data[end - 1]!.info.time.completed === undefined) end--;
    return data.slice(0, end);
  }

  /** The session of compactd with exactly these messages. It continues, unless earlier ones were taken back. */
  async #mirror(id: string, messages: Stored[]): Promise<Mirror> {
    this.#client ??= this.#start();
    const client = await this.#client;
    if (this.#mirrors.get(id)?.isPartOf(messages) === false) await this.#close(id);
    const mirror = this.#mirrors.get(id) ?? (await Mirror.create(client));
    this.#mirrors.set(id, mirror);
    await mirror.take(messages);
    return mirror;
  }

  async #close(id: string): Promise<void> {
    const mirror = this.#mirrors.get(id);
    this.#mirrors.delete(id);
    if (mirror !== undefined) await mirror.client.request("closeSession", { sessionId: mirror.sessionId });
  }

  async #start(): Promise<Client> {
    const gone = () => {
      this.#client = undefined;
      this.#mirrors.clear();
    };
    try {
      const client = await startServer(this.#host());
      void client.exited.then(gone);
      return client;
    } catch (error) {
      gone();
      throw error;
    }
  }

  #host(model?: HostModel) {
    return { name: "opencode", cwd: this.#input.directory, settings: this.#settings, model };
  }
}

/** Adds a message, or the compaction that it is. Gives its first entry. */
async function add(client: Client, { sessionId, entries }: Mirror, message: Stored, all: Stored[]): Promise<string> {
  const marker = message.info.summary === true ? all.find(({ info }) => info.id === message.info.parentID) : undefined;
  const summary = textOf(message);
  if (marker !== undefined && isMarker(marker) && message.info.finish && !message.info.error && summary !== "") {
    const tail = marker.parts.find(({ type }) => type === "compaction")?.tail_start_id as string | undefined;
    const firstKeptEntryId = entries.get(tail ?? "") ?? entries.get(marker.info.id);
    const result = await client.request("compact", { sessionId, force: true, summary: { summary, firstKeptEntryId } });
    return (result as CompactionResult).entryId;
  }
  const messages = converted(message);
  if (messages.length > 0) {
    const { entryIds } = await client.request("appendMessages", { sessionId, messages: messages as AnyMessage[], format: "ai-sdk" });
    return entryIds[0]!;
  }
  // The model sees nothing of it. Its entry is where the context may begin after a compaction.
  const entry: NewEntry = { type: "custom_message", customType: "opencode", content: "", display: false };
  return (await client.request("appendEntry", { sessionId, entry })).entryId;
}

function isMarker({ info, parts }: Stored): boolean {
  return info.role === "user" && parts.some(({ type }) => type === "compaction");
}

function textOf({ parts }: Stored): string {
  return parts.flatMap(({ type, text }) => (type === "text" ? [text as string] : [])).join("\n\n");
}

/** A message of opencode as messages of the AI SDK; none if it says nothing. */
function converted({ info, parts }: Stored): object[] {
  if (info.role === "user") {
    const content = parts.flatMap(userPart);
    return content.length === 0 ? [] : [{ role: "user", content }];
  }
  const calls = parts.filter(({ type, state }) => type === "tool" && state.input !== undefined);
  const content = parts.flatMap((part) => (calls.includes(part) ? [call(part)] : assistantPart(part)));
  const answer = content.length === 0 ? [] : [{ role: "assistant", content }];
  return calls.length === 0 ? answer : [...answer, { role: "tool", content: calls.map(result) }];
}

function userPart({ type, text, ignored, metadata, mime, filename, prompt }: Part): object[] {
  // opencode says this after a compaction; it is no wish of the person.
  if (metadata?.compaction_continue) return [];
  if (type === "text" && !ignored && text !== "") return [{ type: "text", text }];
  if (type === "file") return [{ type: "text", text: `[Attached ${mime}: ${filename ?? "file"}]` }];
  return type === "subtask" ? [{ type: "text", text: prompt }] : [];
}

function assistantPart({ type, text }: Part): object[] {
  return (type === "text" || type === "reasoning") && text !== "" ? [{ type, text }] : [];
}

function call({ callID, tool, state }: Part): object {
  return { type: "tool-call", toolCallId: callID, toolName: tool, input: state.input };
}

function result({ callID, tool, state }: Part): object {
  const failed = state.status !== "completed";
  const output = { type: failed ? "error-text" : "text", value: failed ? String(state.error ?? "The call did not finish.") : state.output };
  return { type: "tool-result", toolCallId: callID, toolName: tool, output };
}
