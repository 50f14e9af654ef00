import { Client } from "./client.js";
import type { CompactionResult } from "./protocol.js";
import type { Handlers } from "./requests.js";

/** The model with which an agent works. */
export interface HostModel {
  /** Tokens of its window; 0 if they are not known. */
  contextWindow: number;
  /** Asks it for a summary. */
  summarize: NonNullable<Handlers["summarize"]>;
}

/** The agent for which a server is started. */
export interface Host {
  name: string;
  /** The directory whose settings count. */
  cwd: string;
  /** Settings that override the settings files. */
  settings?: Record<string, unknown>;
  /** Writes the summaries where the settings name no other summarizer. The built-in one writes them if it fails. */
  model?: HostModel | undefined;
}

/** Starts a server, calls `work` with it, and ends it. */
export async function withServer<Result>(host: Host, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = await startServer(host);
  try {
    return await work(client);
  } finally {
    await client.shutdown();
  }
}

/** Starts a server that ends with the agent. */
export async function startServer({ name, cwd, settings, model }: Host): Promise<Client> {
  const handlers = model === undefined ? {} : { summarize: model.summarize };
  const client = new Client({ stderr: "ignore", ownProcessGroup: true, handlers });
  const defaultSettings = model === undefined ? {} : preferringHost(model.contextWindow);
  try {
    await client.initialize({ clientInfo: { name }, cwd, settings, defaultSettings });
    return client;
  } catch (error) {
    client.kill();
    throw error;
  }
}

/**
 * Why a model stopped, in the words of the AI SDK, as the server takes it. Throws for a reason for which the text is not the whole
 * answer, such as a filter, so that the built-in summarizer writes.
 */
export function stopReason(finish = "stop"): "stop" | "length" {
  if (finish !== "stop" && finish !== "length") throw new Error(`the model did not finish its answer: ${finish}`);
  return finish;
}

/** What a person reads of summarizers that have failed; undefined if none has. */
export function toldFailures({ failures = [], summarizer }: CompactionResult): string | undefined {
  const causes = failures.map(({ summarizer, cause }) => `${cause} (${summarizer})`);
  return causes.length === 0 ? undefined : [...causes, `the summarizer ${summarizer} wrote the summary`].join("; ");
}

/** Default settings with which the model of the host writes the summaries. Its window has 0 tokens if they are not known. */
export function preferringHost(contextWindow: number): Record<string, unknown> {
  return { compactd: { summarizer: ["host", "extractive"], ...(contextWindow > 0 && { summarize: { contextWindow } }) } };
}
