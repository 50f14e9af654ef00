// Drives pi in its mode `rpc` with the extension, and with a scripted model. Prints what happens. Arguments: the script of
// pi, and the extension.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SUMMARIZED } from "../../scripted-model.mjs";
import { Pi, WINDOW, model, place, run, temporary } from "./support.mjs";

const copies = new Set();
const watcher = watch(temporary, (_, name) => name.startsWith("compactd-pi-") && copies.add(name));
let pi = new Pi();
const { requests, forSummaries } = model;
const notified = () => pi.event(({ type, method }) => type === "extension_ui_request" && method === "notify");

await run(async () => {
  for (let step = 1; step <= 100; step++) await pi.prompt(`Step ${step}: check src/part${step}.ts. Never change the public API.`);
  const { entries } = await pi.request({ type: "get_entries" });
  const compactions = entries.filter(({ type }) => type === "compaction");
  const largest = Math.max(...requests.map(({ input }) => input));
  console.log(`100 turns, ${requests.length} requests; the largest had ${largest} of ${WINDOW} tokens; ${compactions.length} compactions`);
  assert.equal(requests.length - forSummaries().length, 100, "each turn is one request");
  assert.ok(compactions.length >= 3 && largest <= WINDOW && forSummaries().length >= compactions.length);
  for (const { fromHook, summary, details, firstKeptEntryId, usage } of compactions) {
    assert.ok(fromHook && summary.startsWith(`## Goal\n- ${SUMMARIZED}`) && details.compactd.summarizer === "host", `the model of pi wrote the summary:\n${summary}`);
    assert.ok(summary.includes("Never change the public API."), "what the model has left out is added");
    assert.ok(usage.output >= 200, JSON.stringify(usage));
    assert.ok(entries.some(({ id }) => id === firstKeptEntryId), "what is kept is an entry of the session");
  }
  assert.ok(requests.at(-1).text.includes("Never change the public API."), "the model sees the summary");
  assert.match(requests.at(-1).text, /## Goal/);

  // pi refuses to compact again right behind a compaction, and the last turn can end with one.
  if (entries.at(-1).type === "compaction") await pi.prompt("Step 100 again: check src/part100.ts.");
  const manual = await pi.request({ type: "compact", customInstructions: "keep the names of the functions" });
  console.log(`by hand: ${manual.tokensBefore} tokens before; the summary begins:\n${manual.summary.split("\n").slice(0, 4).join("\n")}`);

  assert.equal(copies.size, 0, "compactd read the file of the session itself");

  const first = entries.find(({ type, message }) => type === "message" && message.role === "assistant");
  await pi.request({ type: "prompt", message: `/goto ${first.id}` });
  const after = (await pi.request({ type: "get_entries" })).entries;
  const left = after.find(({ type }) => type === "branch_summary");
  console.log(`back at ${first.id}; the summary of what was left has ${left.summary.length} characters`);
  assert.ok(left.fromHook && left.parentId === first.id && left.summary.includes(SUMMARIZED) && left.usage.output >= 200, "the model of pi wrote it");
  assert.equal(copies.size, 1, "compactd read a copy of the branch that was left");
  await pi.prompt("Step 101: go on from here.");
  assert.match(requests.at(-1).text, /Step 101/);

  // pi notes a jump only with the next entry, so the file does not end with its branch.
  const early = after.findLast(({ type }) => type === "compaction").parentId;
  await pi.request({ type: "prompt", message: `/jump ${early}` });
  const jumped = await pi.request({ type: "compact" });
  const compacted = (await pi.request({ type: "get_entries" })).entries.at(-1);
  assert.ok(compacted.fromHook && compacted.summary === jumped.summary && compacted.parentId === early);
  assert.equal(copies.size, 2, "compactd read a copy of the branch of pi");

  // The file is as pi alone would have written it: every line is an entry of pi's, and nothing else was left behind.
  const { sessionFile } = await pi.request({ type: "get_state" });
  const lines = readFileSync(sessionFile, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  const known = (await pi.request({ type: "get_entries" })).entries.map(({ id }) => id);
  assert.deepEqual(lines.slice(1).map(({ id }) => id), known);
  assert.ok(!lines.some(({ id, customType }) => id === "compactd" || customType?.startsWith("compactd")));
  assert.deepEqual(readdirSync(temporary).filter((name) => copies.has(name)), [], "copies are deleted");

  // Where the model gives no summary, the built-in summarizer does, and the person hears why.
  for (const [summaries, why] of [["none", /headings are missing/], ["refused", /no summary today/]]) {
    model.summaries = summaries;
    for (let step = 1; step <= 5; step++) await pi.prompt(`Step ${step}: check src/part${step}.ts.`);
    const warned = notified();
    const { summary, details } = await pi.request({ type: "compact" });
    const { message } = await warned;
    console.log(`${summaries}: ${message}`);
    assert.match(message, /^compactd: .* \(host\); the summarizer extractive wrote the summary$/);
    assert.match(message, why);
    assert.ok(details.compactd.summarizer === "extractive" && summary.startsWith("## Goal\n") && !summary.includes("I checked part 5. The function total5 in src/part5.ts adds the prices. The function"));
  }

  // Who stops a compaction stops the request to the model, and nothing is written.
  model.summaries = "silence";
  for (let step = 1; step <= 5; step++) await pi.prompt(`Step ${step}: check src/part${step}.ts.`);
  const written = (await pi.request({ type: "get_entries" })).entries.length;
  const earlier = forSummaries().length;
  const stopped = pi.request({ type: "compact" }).catch((error) => error);
  while (forSummaries().length === earlier) await new Promise((resolve) => setTimeout(resolve, 20));
  await pi.request({ type: "abort" });
  assert.match(String(await stopped), /Compaction cancelled/);
  await forSummaries().at(-1).closed;
  assert.equal((await pi.request({ type: "get_entries" })).entries.length, written);
  model.summaries = "headings";

  // A settings file chooses who writes.
  const file = join(place, "agent/settings.json");
  const settings = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...settings, compactd: { summarizer: "extractive" } }));
  const chosen = await pi.request({ type: "compact" });
  assert.ok(chosen.details.compactd.summarizer === "extractive" && forSummaries().length === earlier + 1, "no model was asked");
  writeFileSync(file, JSON.stringify(settings));

  // Without compactd, pi summarises by itself, and says why.
  await pi.end();
  pi = new Pi({ variables: { COMPACTD_BIN: join(place, "no-such-program") } });
  for (let step = 1; step <= 12; step++) await pi.prompt(`Step ${step}: check src/part${step}.ts.`);
  const asked = requests.length;
  const warned = notified();
  await pi.request({ type: "compact" });
  const { message } = await warned;
  console.log(`without the program: ${message}`);
  assert.match(message, /^compactd: .*no-such-program.*; pi summarises by itself$/);
  assert.ok(requests.length > asked, "pi asked its model for the summary");
  console.log("pi: 1 passed, 0 failed");
}, () => (watcher.close(), pi.end()));
