/** The extension as VS Code drives it: by its commands, against the built server. Prints what a person sees. */
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { answers, documents, settings, shown, view, vscode } from "./fake-vscode";
import { activate, deactivate } from "../src/extension";

const root = join(__dirname, "../..");
const place = mkdtempSync(join(tmpdir(), "compactd-vscode-"));
const file = join(place, "sample.jsonl");
const command = ["sh", join(root, "../editors/summarizer.sh")];
const run = (name: string, argument?: unknown) => vscode.commands.executeCommand(`compactd.${name}`, argument);

before(() => {
  copyFileSync(join(root, "../editors/sample.jsonl"), file);
  process.env.PI_CODING_AGENT_DIR = place;
  settings.path = process.env.COMPACTD_BIN ?? "compactd";
  settings.settings = {
    compaction: { keepRecentTokens: 100 },
    compactd: { summarizer: "slow", summarizers: { slow: { provider: "command", command } } },
  };
  activate({ subscriptions: [] } as any);
});

after(async () => {
  await deactivate();
  rmSync(place, { recursive: true });
});

/** The items of the view, those that can be opened with what is below them. */
function items(row?: any, depth = 0): { row: any; line: string }[] {
  const provider = view!.options.treeDataProvider;
  return provider.getChildren(row).flatMap((child: any) => {
    const item = provider.getTreeItem(child);
    // The icons of what can be opened, of what is on the current path, and of what is not.
    const icon = item.collapsibleState ? "▸" : item.iconPath.id === "git-branch" ? "◦" : "•";
    const line = `${"  ".repeat(depth)}${icon} ${item.label}  ${item.description}`;
    return [{ row: child, line }, ...items(child, depth + 1)];
  });
}

function say(step: string, text: string): void {
  console.log(`\n== ${step}\n${text.replaceAll(place, "/home/ada").trimEnd()}\n==`);
}

function print(step: string): string {
  const text = [`agent session   ${view!.description}`, ...items().map(({ line }) => line)].join("\n");
  // How often progress is told depends on the machine.
  const progress = (line: string | undefined) => line?.startsWith("Compacting: summarizing") ?? false;
  const told = shown.flatMap((line, index) => {
    if (!progress(line) || !progress(shown[index - 1]) || !progress(shown[index + 1])) return [line];
    return progress(shown[index - 2]) ? [] : ["…"];
  });
  say(step, `${told.join("\n")}${told.length > 0 ? "\n\n" : ""}${text}`);
  return text;
}

/** What is said since the last step. */
async function saying(work: () => Promise<unknown>): Promise<string> {
  shown.length = 0;
  await work();
  return shown.join("\n");
}

const at = (text: string) => items().find(({ line }) => line.includes(text))!.row;

test("a session is opened, compacted, undone and walked through", async () => {
  answers.file = file;
  await saying(() => run("open"));
  const tree = print("open: the tree");
  assert.match(tree, /24 entries, 2 branches/);
  assert.match(tree, /▸ The flag is there[^\n]*\n {2}▸ Print the JSON on one line\. {2}user\n {4}◦ \[bash\]/);
  assert.match(tree, /◀ leaf$/);

  const size = statSync(file).size;
  const diff = await saying(() => run("dryRun"));
  print("dry run: the titles and both sides");
  assert.match(diff, /^diff: Compaction of \d+ tokens \(dry run\)\nuser {7}Add a --json flag/);
  assert.match(diff, /\nsummary of 12 messages; by itself it keeps \d+ % [^\n]*\nuser {7}Now write a test/);
  assert.equal(statSync(file).size, size);

  answers.input = "keep the field names";
  const compacted = await saying(() => run("compact"));
  print("compact");
  assert.match(compacted, /^Compacting: \d+ tokens before\nCompacting: summarizing: 0 tokens written/);
  assert.match(compacted, /summarizing: [1-9]\d* tokens written/);
  assert.match(compacted, /information: compacted \d+ tokens to \d+\. /);
  assert.ok(statSync(file).size > size);

  const summary = await saying(() => run("show", items().at(-1)!.row));
  const text = documents.get(summary.replace("document: ", ""))!;
  say("show: the summary", text);
  assert.match(text, /## Goal/);

  const call = await saying(() => run("show", items().find(({ line }) => line.includes("[edit]"))!.row));
  say("show: a tool call", documents.get(call.replace("document: ", ""))!);
  assert.match(documents.get(call.replace("document: ", ""))!, /^\[edit\]\npath: src\/report\.py\n/);

  assert.match(await saying(() => run("undo")), /information: undone: compaction [0-9a-f]+; the leaf is [0-9a-f]+/);
  assert.match(print("undo"), /The README does not mention[^\n]*◀ leaf/);

  assert.match(await saying(() => run("goWithSummary", at("One line breaks"))), /the summary of what was left is [0-9a-f]+/);
  assert.match(print("go with a summary"), /summary ◀ leaf$/);

  const went = await saying(() => run("go", at("Thanks. What is left")));
  assert.match(went, /clipboard: Thanks\. What is left to do\?\ninformation: at 1a2b3d87; the text/);
  assert.match(print("go to a message of the person"), /all 13 tests pass\.  assistant ◀ leaf/);
});

test("the information about a compaction has a button that undoes it", async () => {
  await saying(() => run("goWithSummary", at("The README does not mention")));
  answers.action = "Undo";
  const said = await saying(() => run("compact"));
  assert.match(said, /information: compacted [^]*information: undone: /);
});

test("a person who gives up at the instructions changes nothing", async () => {
  const size = statSync(file).size;
  delete answers.input;
  assert.equal(await saying(() => run("compact")), "");
  assert.equal(statSync(file).size, size);
});

test("failures are told, and what is shown stays", async () => {
  const missing = await saying(() => run("open", vscode.Uri.file(join(place, "none.jsonl"))));
  assert.match(missing, /^error: compactd: there is no session at .* \(sessionNotFound\)$/);
  assert.match(view!.description!, /entries/);
});

test("without a program the error says what to do", async () => {
  await deactivate();
  settings.path = join(place, "no-such-program");
  const said = await saying(() => run("open"));
  say("no program", said);
  assert.match(said, /^error: compactd: there is no program .*npm install --global compactd-client.*set compactd\.path$/);
});
