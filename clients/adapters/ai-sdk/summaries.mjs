// Who writes the summaries of an agent of the AI SDK. `cargo xtask hosts` runs it in the directory of the page's program.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { resolve } = createRequire(join(process.cwd(), "summaries.mjs"));
const load = (name) => import(pathToFileURL(resolve(name)).href);
const [{ AiSdkHistory }, { generateText }, mocks] = await Promise.all(["compactd-client/ai-sdk", "ai", "ai/test"].map(load));

const Model = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3 ?? mocks.MockLanguageModelV2;
const isOld = Model === mocks.MockLanguageModelV2;
const settings = { compaction: { reserveTokens: 2000, keepRecentTokens: 1500 } };
const run = new AsyncLocalStorage();

/** Answers at length, and writes summaries that say so, or fails at it. */
function scripted(says) {
  const asked = [];
  const model = new Model({
    modelId: says,
    doGenerate: async ({ prompt, maxOutputTokens, abortSignal, tools }) => {
      const isSummary = prompt[0].role === "system";
      if (isSummary) asked.push({ maxOutputTokens, tools, run: run.getStore(), abortSignal });
      if (isSummary && says === "fails") throw new Error("no network");
      const text = prompt.at(-1).content[0].text;
      const headings = text.slice(text.lastIndexOf("</")).match(/^##+ .*/gm) ?? [];
      const summary = headings.map((heading) => `${heading}\n- The ${says} model says so.`).join("\n");
      const reason = (isSummary && { cut: "length", filtered: "content-filter" }[says]) || "stop";
      const input = Math.round(JSON.stringify(prompt).length / 4);
      const usage = { inputTokens: { total: input, noCache: input - 10, cacheRead: 10, cacheWrite: 0 }, outputTokens: { total: 7, text: 7 } };
      return {
        content: [{ type: "text", text: isSummary ? summary : "Nothing is wrong with it. ".repeat(60) }],
        finishReason: isOld ? reason : { unified: reason, raw: reason },
        usage: isOld ? { inputTokens: input, outputTokens: 7, totalTokens: input + 7, cachedInputTokens: 10 } : usage,
        warnings: [],
      };
    },
  });
  return { model, asked };
}

/** Runs some turns. Gives the first message of the last step, and the result of the last compaction. */
async function turns(model, options) {
  const ends = [];
  const history = new AiSdkHistory({ contextWindow: 6000, settings, onCompaction: (end) => ends.push(end), ...options });
  const messages = [];
  let first = "";
  for (let turn = 0; turn < 30; turn++) {
    messages.push({ role: "user", content: `Check part ${turn}.` });
    const prepareStep = async (step) => {
      const prepared = await history.prepareStep(step);
      first = JSON.stringify(prepared.messages[0]);
      return prepared;
    };
    const result = await run.run(`turn ${turn}`, () => generateText({ model, messages, prepareStep }));
    messages.push(...(result.responseMessages ?? result.response.messages));
  }
  await history.close();
  return { first, result: ends.at(-1).result };
}

const [own, other] = [scripted("own"), scripted("other")];
// By default the model of the step writes.
const { first, result } = await turns(own.model, {});
assert.match(first, /The own model says so/);
assert.equal(result.summarizer, "host");
assert.ok(result.usage.input > 0 && result.usage.cacheRead === 10 * result.attempts && result.usage.output === 7 * result.attempts, JSON.stringify(result.usage));
for (const { maxOutputTokens, tools, run, abortSignal } of own.asked) {
  assert.ok(maxOutputTokens > 0 && maxOutputTokens <= 1600 && !tools?.length && abortSignal instanceof AbortSignal);
  assert.match(run, /^turn/, "the request belongs to the run");
}
own.asked.length = 0;
// Else the one that is named, and none with false.
assert.match((await turns(own.model, { model: other.model })).first, /The other model says so/);
assert.equal((await turns(own.model, { model: false })).result.summarizer, "extractive");
// The settings decide first.
assert.equal((await turns(own.model, { settings: { ...settings, compactd: { summarizer: "extractive" } } })).result.summarizer, "extractive");
assert.equal(own.asked.length, 0);
// The built-in summarizer writes where the model does not.
for (const [says, kind] of [["fails", "summarizerFailed"], ["cut", "summaryRejected"], ["filtered", "summarizerFailed"]]) {
  const { first, result } = await turns(own.model, { model: scripted(says).model });
  assert.match(first, /## Goal/);
  assert.deepEqual([result.summarizer, result.failures[0].kind], ["extractive", kind]);
}
console.log("ai-sdk: the model of the step writes the summaries, or who was chosen");
