// A model for the tests of agents: a server on this machine with the interface of OpenAI, whose answers are a script.
import { createServer } from "node:http";

const REFUSALS = { refused: "no summary today", tooLarge: "This model's maximum context length is 8192 tokens." };

/**
 * Starts the server. `answer` gets the messages of a request and gives `{ said, text }`, or `{ said, query }` to call the tool
 * `recall`; `said` is what the person said last. Its answers count as `outputTokens`, and what it is sent as a quarter of the bytes.
 * Gives the address of the interface, what was sent so far, those of these requests that asked for a summary, and a function that
 * ends it. `summaries` of what it gives says what comes of requests of compactd for a summary: `headings`, `none` (what `answer`
 * gives), `refused`, `tooLarge`, or `silence`.
 */
export async function scriptedModel(outputTokens, answer) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { messages, tools = [] } = JSON.parse(Buffer.concat(chunks).toString());
    const input = Math.round(JSON.stringify(messages).length / 4);
    const summary = askedSummary(messages);
    const writes = summary !== undefined && model.summaries === "headings";
    const { said, text, query } = writes ? { said: "", text: summary } : answer(messages);
    const closed = new Promise((resolve) => response.on("close", resolve));
    const sent = { input, said, messages, text: JSON.stringify(messages), tools: tools.map((tool) => tool.function.name), closed };
    requests.push({ ...sent, summarizes: summary !== undefined });
    if (summary !== undefined && model.summaries === "silence") return;
    const refusal = summary !== undefined && REFUSALS[model.summaries];
    if (refusal) return void response.writeHead(400).end(JSON.stringify({ error: { message: refusal } }));
    const call = { index: 0, id: `call${requests.length}`, type: "function", function: { name: "recall", arguments: JSON.stringify({ query }) } };
    const delta = query ? { role: "assistant", tool_calls: [call] } : { role: "assistant", content: text };
    const base = { id: "1", object: "chat.completion.chunk", created: 1, model: "scripted" };
    const usage = { prompt_tokens: input, completion_tokens: outputTokens, total_tokens: input + outputTokens };
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const chunk of [
      { ...base, choices: [{ index: 0, delta, finish_reason: null }] },
      { ...base, choices: [{ index: 0, delta: {}, finish_reason: query ? "tool_calls" : "stop" }] },
      { ...base, choices: [], usage },
    ]) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const model = {
    summaries: "headings",
    url: `http://127.0.0.1:${server.address().port}/v1`,
    requests,
    forSummaries: () => requests.filter(({ summarizes }) => summarizes),
    close: () => (server.close(), server.closeAllConnections()),
  };
  return model;
}

/** An answer of some length about a part of a program. */
export const longAnswer = (number, sentences) =>
  `I checked part ${number}. ${`The function total${number} in src/part${number}.ts adds the prices. `.repeat(sentences)}`;

/** What the model says under every heading of its summaries. */
export const SUMMARIZED = "The model of the agent wrote this.";

/** The summary under the headings that compactd asks for in these messages; undefined if it does not. */
function askedSummary(messages) {
  const texts = messages.flatMap(({ content }) => (typeof content === "string" ? content : (content ?? []).map(({ text }) => text)));
  if (!texts.some((text) => text?.includes("You write handover notes."))) return undefined;
  const request = texts.at(-1);
  // An earlier summary has the same ones.
  const headings = new Set(request.slice(request.lastIndexOf("</conversation>")).match(/^##+ .+$/gm));
  return [...headings].map((heading) => `${heading}\n- ${SUMMARIZED}`).join("\n\n");
}
