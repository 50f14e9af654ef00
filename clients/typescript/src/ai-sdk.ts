/** For the Vercel AI SDK: `generateText({ …, prepareStep: history.prepareStep })`. */
import { BoundedHistory, type BoundedHistoryOptions, type Codec } from "./bounded-history.js";
import { isObject } from "./errors.js";
import type { Message } from "./protocol.js";

/** The part of the SDK's `ModelMessage` that is read here, in any of its versions. */
interface ModelMessage {
  role: string;
  content: string | readonly unknown[];
}

type Block = { type: string; [member: string]: unknown };
type Part = { type: string; [member: string]: any };

/** A conversation of the SDK that always fits the window of its model. */
export class AiSdkHistory {
  readonly history: BoundedHistory<ModelMessage>;

  constructor(options: BoundedHistoryOptions) {
    this.history = new BoundedHistory(codec, options);
  }

  /** For `prepareStep` of `generateText`, `streamText` and agents. */
  readonly prepareStep = async <M extends ModelMessage>({ messages }: { messages: M[] }): Promise<{ messages: M[] }> => ({
    messages: await this.fit(messages),
  });

  /** The messages that the model is to see in place of these. System messages stay in front as they are. */
  async fit<M extends ModelMessage>(messages: M[]): Promise<M[]> {
    const system = messages.filter(({ role }) => role === "system");
    const others = messages.filter(({ role }) => role !== "system");
    return [...system, ...((await this.history.fit(others)) as M[])];
  }

  /** Ends the server. */
  async close(): Promise<void> {
    await this.history.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

const codec: Codec<ModelMessage> = {
  toStored(message) {
    if (message.role === "assistant") return [{ stored: assistant(message), part: plain(message) }];
    if (message.role !== "tool") return [{ stored: { role: "user", content: blocks(message.content) }, part: plain(message) }];
    return parts(message.content).map((part) => ({ stored: result(part), part: plain({ ...message, content: [part] }) }));
  },

  fromStored({ role, content, isError }, original) {
    const value = textOf(content);
    if (role !== "toolResult" || original === undefined) return { role: "user", content: value };
    const output = { type: isError ? "error-text" : "text", value };
    return { ...original, content: [{ ...parts(original.content)[0], output }] };
  },

  join(messages) {
    const [first] = messages as [ModelMessage, ...ModelMessage[]];
    return messages.length === 1 ? first : { ...first, content: messages.flatMap(({ content }) => parts(content)) };
  },
};

function assistant(message: ModelMessage): Message {
  const content = blocks(message.content);
  const calls = content.some(({ type }) => type === "toolCall");
  return { role: "assistant", content, stopReason: calls ? "toolUse" : "stop" };
}

/** A result of a tool. Other parts of its message, such as approvals, are shown as they are. */
function result(part: Part): Message {
  if (part.type !== "tool-result") return { role: "user", content: [block(part)] };
  const { type, value } = part.output as { type: string; value: unknown };
  const content = type === "content" && Array.isArray(value) ? value.map(block) : [text(asText(value ?? part.output))];
  const isError = type.startsWith("error") || type === "execution-denied";
  return { role: "toolResult", toolCallId: part.toolCallId, toolName: part.toolName, content, isError };
}

function parts(content: ModelMessage["content"]): Part[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : (content as Part[]);
}

function blocks(content: ModelMessage["content"]): Block[] {
  return parts(content).map(block);
}

function block(part: Part): Block {
  switch (part.type) {
    case "text":
      return text(part.text);
    case "reasoning":
      return { type: "thinking", thinking: part.text };
    case "tool-call":
      return { type: "toolCall", id: part.toolCallId, name: part.toolName, arguments: isObject(part.input) ? part.input : { input: part.input } };
    case "image":
    case "file":
    case "media":
    case "image-data":
      return media(part);
    default:
      return text(asText(part));
  }
}

/** An image as a session stores it. The original is kept beside whatever is shown of other files. */
function media(part: Part): Block {
  const data: unknown = part.image ?? part.data;
  const mimeType = part.mediaType ?? (part.type === "image" ? "image/png" : "");
  const shown = data instanceof Uint8Array ? base64(data) : data;
  const isImage = mimeType.startsWith("image/") && typeof shown === "string" && !/^https?:/.test(shown);
  if (isImage) return { type: "image", data: shown.replace(/^data:[^,]*,/, ""), mimeType };
  return text(`[file ${part.filename ?? ""} ${mimeType} ${data instanceof URL ? data.href : ""}]`);
}

/** The message with bytes as base64, which the SDK takes as well, and which JSON can say. */
function plain(message: ModelMessage): ModelMessage {
  const bytes = (part: unknown) =>
    isObject(part)
      ? Object.fromEntries(Object.entries(part).map(([name, value]) => [name, value instanceof Uint8Array ? base64(value) : value]))
      : part;
  return typeof message.content === "string" ? message : { ...message, content: message.content.map(bytes) };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return asText(content);
  return (content as Block[]).map((one) => (one.type === "text" ? asText(one.text) : `[${one.type}]`)).join("\n");
}

function text(value: string): Block {
  return { type: "text", text: value };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
