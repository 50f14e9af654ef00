/** For the Vercel AI SDK: `generateText({ …, prepareStep: history.prepareStep })`. */
import { AsyncResource } from "node:async_hooks";
import { BoundedHistory, type BoundedHistoryOptions, type Codec } from "./bounded-history.js";
import { stopReason } from "./host-model.js";
import type { AnyMessage, SummarizeParams, SummarizeResult } from "./protocol.js";

/** The part of the SDK's `ModelMessage` that is read here, in any of its versions. */
interface ModelMessage {
  role: string;
  content: string | readonly unknown[];
}

/** What the SDK takes for a `model`: its id, or one of a provider. */
type LanguageModel = string | object;

/** The part of the options of `prepareStep` that is read here. */
interface Step<M> {
  messages: M[];
  model?: LanguageModel;
}

/** The part of a result of the SDK that is read here, in any of its versions. */
interface Generated {
  text: string;
  finishReason?: string;
  usage: {
    inputTokens?: number;
    outputTokens?: number;
    cachedInputTokens?: number;
    inputTokenDetails?: { cacheReadTokens?: number; cacheWriteTokens?: number };
  };
}

/** How a history is bounded, and who writes its summaries. */
export interface AiSdkHistoryOptions extends BoundedHistoryOptions {
  /** The model that writes the summaries: by default the one of the step, with `false` none. */
  model?: LanguageModel | false;
}

/** A conversation of the SDK that always fits the window of its model. */
export class AiSdkHistory {
  readonly history: BoundedHistory<ModelMessage>;
  /** Asks a model in the asynchronous context of the latest step, so that a trace has the request at its place. */
  #ask = ask;
  #modelOfStep: LanguageModel | undefined;

  constructor({ model, ...options }: AiSdkHistoryOptions) {
    const summarize = (params: SummarizeParams, signal: AbortSignal) => {
      const writer = model || this.#modelOfStep;
      if (writer === undefined) throw new Error("no model is known before the first step");
      return this.#ask(writer, params, signal);
    };
    this.history = new BoundedHistory(codec, model === false ? options : { summarize, ...options });
  }

  /** For `prepareStep` of `generateText`, `streamText` and agents. */
  readonly prepareStep = async <M extends ModelMessage>(step: Step<M>): Promise<{ messages: M[] }> => {
    this.#modelOfStep = step.model;
    this.#ask = AsyncResource.bind(ask);
    return { messages: await this.fit(step.messages) };
  };

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

async function ask(model: LanguageModel, params: SummarizeParams, abortSignal: AbortSignal): Promise<SummarizeResult> {
  const { systemPrompt: system, prompt, maxTokens: maxOutputTokens } = params;
  // Only who uses this adapter has the package, so the types of the client do without it.
  const { generateText } = (await import("ai" as string)) as { generateText: (options: object) => Promise<Generated> };
  const { text, finishReason, usage } = await generateText({ model, system, prompt, maxOutputTokens, abortSignal });
  const { inputTokens: input = 0, outputTokens: output = 0, inputTokenDetails: cache, cachedInputTokens } = usage;
  const cacheRead = cache?.cacheReadTokens ?? cachedInputTokens ?? 0;
  const cacheWrite = cache?.cacheWriteTokens ?? 0;
  const known = { input: Math.max(input - cacheRead - cacheWrite, 0), output, cacheRead, cacheWrite, totalTokens: input + output };
  return { text, stopReason: stopReason(finishReason), usage: input + output > 0 ? known : null };
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
