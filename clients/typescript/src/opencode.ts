/**
 * A plugin for opencode: compactd writes the summaries of compactions, and `recall` gives the agent back what they took out.
 * opencode alone stores the conversation. compactd keeps a session of it in memory, which is read from opencode when it is needed.
 */
import { Client } from "./client.js";
import { CompactdError } from "./errors.js";
import type { AnyMessage, CompactionResult, NewEntry, RecalledEntry } from "./protocol.js";

/** The part of opencode's API that is used here, as the types of `@opencode-ai/plugin` have it. */
interface Input {
  directory: string;
  client: {
    session: {
      messages(options: { path: { id: string } }): Promise<{ data?: Stored[]; error?: unknown }>;
      message(options: { path: { id: string; messageID: string } }): Promise<{ data?: Stored; error?: unknown }>;
    };
    tui: { showToast(options: { body: { message: string; variant: "warning" } }): Promise<unknown> };
  };
}

/** A message of opencode with its parts. */
interface Stored {
  info: {
    id: string;
    sessionID: string;
    role: string;
    parentID?: string;
    summary?: unknown;
    finish?: string;
    error?: unknown;
    time: { completed?: number };
  };
  parts: Part[];
}

type Part = { type: string; [member: string]: any };

/** Starts the plugin. The options are settings of compactd that override its settings files. */
export default async function compactd(input: Input, options: Record<string, unknown> = {}): Promise<object> {
  const sessions = new Sessions(input, options);
  /** Sessions whose compaction has begun, with what decides about the request for the summary. */
  const begun = new Map<string, { prompt?: string }>();
  /** Summaries by the id of the message that asks for the compaction. */
  const summaries = new Map<string, string>();

  const warn = async (error: unknown, then: string): Promise<void> => {
    const kind = error instanceof CompactdError ? ` (${error.kind})` : "";
    const message = `compactd: ${error instanceof Error ? error.message : error}${kind}; ${then}`;
    await input.client.tui.showToast({ body: { message, variant: "warning" } }).catch(() => {});
  };

  return {
    "experimental.session.compacting": async ({ sessionID }: { sessionID: string }, output: { prompt?: string }) => {
      begun.set(sessionID, output);
    },
    // Called with the messages of a compaction right after its beginning, and with those of every other request.
    "experimental.chat.messages.transform": async (_: unknown, { messages }: { messages: Stored[] }) => {
      const [first] = messages;
      if (first === undefined) return begun.clear();
      const output = begun.get(first.info.sessionID);
      begun.delete(first.info.sessionID);
      if (output === undefined) return restore(messages, summaries);
      try {
        const { markerId, summary } = await sessions.summarize(first.info.sessionID, messages.at(-1)!.info.id);
        summaries.set(markerId, summary);
      } catch (error) {
        return warn(error, "opencode summarises by itself");
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
    event: async ({ event }: { event: { type: string; properties?: { info?: { id?: string } } } }) => {
      if (event.type === "session.deleted" && event.properties?.info?.id) await sessions.forget(event.properties.info.id);
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
    dispose: () => sessions.stop(),
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

/** A session of compactd that has the messages of one of opencode's. */
interface Mirror {
  sessionId: string;
  /** Ids of messages, and the first entry of each. */
  entries: Map<string, string>;
}

/** Sessions of one server, which is started when it is needed first. */
class Sessions {
  readonly #input: Input;
  readonly #settings: Record<string, unknown>;
  readonly #mirrors = new Map<string, Mirror>();
  #client: Promise<Client> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(input: Input, settings: Record<string, unknown>) {
    this.#input = input;
    this.#settings = settings;
  }

  /** The summary of all messages up to this one, and the id of the message that asks for it. */
  summarize(id: string, lastMessageId: string): Promise<{ markerId: string; summary: string }> {
    return this.#inTurn(async () => {
      const messages = await this.#messages(id);
      const marker = messages.filter(isMarker).at(-1);
      const last = messages.findIndex(({ info }) => info.id === lastMessageId);
      if (marker === undefined || last < 0) throw new Error(`session ${id} lacks the messages of its compaction`);
      const { client, sessionId, entries } = await this.#mirror(id, messages);
      // What stays begins behind the last message, at the latest with the one that asks for the compaction.
      const firstKept = messages.slice(last + 1).find(({ info }) => entries.has(info.id)) ?? marker;
      const firstKeptEntryId = entries.get(firstKept.info.id);
      const result = await client.request("compact", { sessionId, commit: false, force: true, firstKeptEntryId });
      return { markerId: marker.info.id, summary: (result as CompactionResult).summary };
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
  async #mirror(id: string, messages: Stored[]): Promise<Mirror & { client: Client }> {
    this.#client ??= this.#start();
    const client = await this.#client;
    const known = [...(this.#mirrors.get(id)?.entries.keys() ?? [])];
    const ids = messages.map(({ info }) => info.id);
    if (known.some((messageId, index) => messageId !== ids[index])) await this.#close(id);
    const mirror = this.#mirrors.get(id) ?? (await this.#create(client, id));
    for (const message of messages.slice(mirror.entries.size)) {
      const entryId = await add(client, mirror, message, messages);
      mirror.entries.set(message.info.id, entryId);
    }
    return { client, ...mirror };
  }

  async #create(client: Client, id: string): Promise<Mirror> {
    const { sessionId } = await client.request("createSession", { ephemeral: true });
    const mirror = { sessionId, entries: new Map<string, string>() };
    this.#mirrors.set(id, mirror);
    return mirror;
  }

  async #close(id: string): Promise<void> {
    const mirror = this.#mirrors.get(id);
    this.#mirrors.delete(id);
    if (mirror !== undefined) await (await this.#client)?.request("closeSession", { sessionId: mirror.sessionId });
  }

  async #start(): Promise<Client> {
    const client = new Client({ stderr: "ignore", ownProcessGroup: true });
    void client.exited.then(() => {
      this.#client = undefined;
      this.#mirrors.clear();
    });
    await client.initialize({ clientInfo: { name: "opencode" }, cwd: this.#input.directory, settings: this.#settings });
    return client;
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
