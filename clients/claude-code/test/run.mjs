// Drives Claude Code with the plugin and with a scripted model behind a server on this machine: no account, no network.
// A conversation is compacted, and a fact that the summary leaves out is recalled. Prints what happens.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { homedir } from "node:os";
import { join } from "node:path";
import { text as read } from "node:stream/consumers";

const FACT = "the password of the heron is blue-17";
const RESULT = '"type":"tool_result"';
const SUMMARY = "<summary>We talked about birds.</summary>";

// The model. It asks for `recall` when it is told to, and answers everything else with a sentence.
const requests = [];
const model = createServer(async (request, response) => {
  const text = await read(request);
  if (request.method !== "POST") return response.writeHead(200).end("{}");
  const body = JSON.parse(text);
  if (request.url.includes("count_tokens")) return response.writeHead(200).end(JSON.stringify({ input_tokens: 100 }));
  requests.push(body);
  const last = JSON.stringify(body.messages.findLast(({ role }) => role === "user"));
  const tool = body.tools?.find(({ name }) => name.endsWith("recall"))?.name;
  let block = { type: "text", text: "I will remember that." };
  if (last.includes("<summary> block")) block = { type: "text", text: SUMMARY };
  else if (last.includes(RESULT)) block = { type: "text", text: "Here it is." };
  else if (last.includes("Recall it") && tool) block = { type: "tool_use", id: "toolu_1", name: tool, input: { query: "password heron" } };
  const usage = { input_tokens: 1000, output_tokens: 20 };
  const message = { id: `msg_${requests.length}`, type: "message", role: "assistant", model: body.model, content: [], stop_reason: null, stop_sequence: null, usage };
  const stop_reason = block.type === "tool_use" ? "tool_use" : "end_turn";
  if (!body.stream) return response.writeHead(200).end(JSON.stringify({ ...message, content: [block], stop_reason }));
  const empty = block.type === "text" ? { type: "text", text: "" } : { ...block, input: {} };
  const delta = block.type === "text" ? { type: "text_delta", text: block.text } : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: empty },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
    { type: "message_stop" },
  ]) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
});
await new Promise((resolve) => model.listen(0, "127.0.0.1", resolve));

/** Runs Claude Code once with a prompt. Returns its result. */
async function claude(prompt, ...options) {
  const env = {
    ...process.env,
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${model.address().port}`,
    ANTHROPIC_API_KEY: "none",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
  const child = spawn("claude", ["-p", prompt, "--output-format", "json", ...options], { env, stdio: ["ignore", "pipe", "inherit"], timeout: 120_000 });
  const output = await read(child.stdout);
  const result = JSON.parse(output);
  assert.equal(result.is_error, false, output);
  return result;
}

/** The session files of compactd. */
function sessions() {
  const directory = join(homedir(), ".pi/agent/sessions");
  return readdirSync(directory, { recursive: true }).filter((name) => name.endsWith(".jsonl")).map((name) => join(directory, name));
}

const { session_id } = await claude(`Remember: ${FACT}.`);
for (const bird of ["the wren", "the owl", "the coot"]) await claude(`Remember ${bird} too.`, "--resume", session_id);
await claude("/compact", "--resume", session_id);

const [session, ...others] = sessions();
assert.deepEqual(others, [], "one session for one conversation");
assert.ok(readFileSync(session, "utf8").includes(FACT), "the session has what was said");
console.log("archived before the compaction");

await claude("Recall it: which password has the bird?", "--resume", session_id, "--allowedTools", "mcp__plugin_compactd_compactd__recall");
const texts = requests.map(({ messages }) => JSON.stringify(messages));
const asked = texts.findLast((text) => text.includes("Recall it") && !text.includes(RESULT)) ?? "";
const answered = texts.findLast((text) => text.includes(RESULT)) ?? "";
assert.ok(asked.includes("We talked about birds."), `the context was compacted: ${asked.slice(-2000)}`);
assert.ok(!asked.includes(FACT), "the summary lost the fact");
assert.ok(asked.includes(session), "the reminder names the session");
console.log("reminded after it");
assert.ok(answered.includes(FACT), `recall found the fact: ${answered.slice(-800)}`);
console.log("recalled what the summary left out");
model.close();
