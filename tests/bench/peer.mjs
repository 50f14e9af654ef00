// Measures the published package, one thing in one process of its own.
//
//   node peer.mjs ready                   start and imports
//   node peer.mjs context FILE            the first context of a session
//   node peer.mjs tree FILE               the whole tree of a session
//   node peer.mjs prepare FILE RUNS       preparations; the file grows by RUNS messages
//   node peer.mjs append DIRECTORY RUNS   appends to a new session
//   node peer.mjs list                    all sessions below $PI_CODING_AGENT_DIR, twice
//
// Writes one line of JSON when it is done; times are arrays of nanoseconds, memory is in bytes.
// Whoever measures start and imports too takes the time until that line.
import { readFileSync } from "node:fs";

const core = new URL("../interop/node_modules/@earendil-works/pi-coding-agent/dist/core/", import.meta.url);
const { SessionManager } = await import(new URL("session-manager.js", core));
const { DEFAULT_COMPACTION_SETTINGS, prepareCompaction } = await import(new URL("compaction/compaction.js", core));

/** What `work` takes, in nanoseconds. */
function timed(work) {
  const started = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - started);
}

async function timedAsync(work) {
  const started = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - started);
}

function repeated(runs, work) {
  return Array.from({ length: runs }, (_, run) => work(run));
}

function memory() {
  const status = readFileSync("/proc/self/status", "utf8");
  const bytes = (name) => Number(status.match(new RegExp(`^${name}:\\s*(\\d+) kB`, "m"))?.[1] ?? 0) * 1024;
  return { anonymous: bytes("RssAnon"), peak: bytes("VmHWM") };
}

function message(run) {
  const text = `Message ${run} of about the size that people write, with a path such as src/main.rs in it.`;
  return { role: "user", content: text, timestamp: Date.now() };
}

function prepared(manager) {
  const preparation = prepareCompaction(manager.getBranch(), DEFAULT_COMPACTION_SETTINGS);
  if (!preparation) throw new Error("there is nothing to compact");
  return preparation;
}

const things = {
  ready: () => ({}),

  context(file) {
    const context = SessionManager.open(file).buildSessionContext();
    return { messages: context.messages.length };
  },

  tree(file) {
    let manager;
    let tree;
    const times = [timed(() => { manager = SessionManager.open(file); tree = manager.getTree(); })];
    return { times, roots: tree.length, ...memory() };
  },

  prepare(file, runs) {
    const manager = SessionManager.open(file);
    prepared(manager);
    const tokens = prepared(manager).tokensBefore;
    const times = repeated(runs, () => timed(() => prepared(manager)));
    const grown = repeated(runs, (run) => {
      manager.appendMessage(message(run));
      return timed(() => prepared(manager));
    });
    return { times, grown, tokens };
  },

  append(directory, runs) {
    const manager = SessionManager.create("/project", directory);
    // The package creates the file with the first message.
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
    manager.appendMessage(message(0));
    const answer = { role: "assistant", content: [{ type: "text", text: "Yes." }], stopReason: "stop", usage };
    manager.appendMessage({ ...answer, api: "a", provider: "p", model: "m", timestamp: Date.now() });
    return { times: repeated(runs, (run) => timed(() => manager.appendMessage(message(run)))) };
  },

  async list() {
    let sessions;
    const list = async () => { sessions = await SessionManager.listAll(); };
    const times = [await timedAsync(list), await timedAsync(list)];
    return { times, count: sessions.length, ...memory() };
  },
};

const [thing, place, runs] = process.argv.slice(2);
const result = await things[thing](place, Number(runs));
process.stdout.write(`${JSON.stringify(result)}\n`);
