/** For the Vercel AI SDK: `generateText({ …, prepareStep: history.prepareStep })`. */
import { BoundedHistory, type BoundedHistoryOptions, type Codec } from "./bounded-history.js";
import type { AnyMessage } from "./protocol.js";

/** The part of the SDK's `ModelMessage` that is read here, in any of its versions. */
interface ModelMessage {
  role: string;
  content: string | readonly unknown[];
}

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
  format: "ai-sdk",
  // The SDK takes base64 in place of bytes, and the text of an address in place of a URL.
  toFormat: (message) => JSON.parse(JSON.stringify(message, bytesAsBase64)) as AnyMessage,
  fromFormat: (message) => message as unknown as ModelMessage,
};

/** Of the value before `toJSON`, which Node's buffers have. */
function bytesAsBase64(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const before = this[name];
  if (before instanceof ArrayBuffer) return Buffer.from(before).toString("base64");
  return before instanceof Uint8Array ? Buffer.from(before).toString("base64") : value;
}
