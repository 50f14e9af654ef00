#!/usr/bin/env node
// Starts the program that npm installed for this platform, with the same arguments and pipes.
import { spawn } from "node:child_process";
import { advice, findInstalledBinary } from "../dist/src/binary.js";

// The path is not searched: this launcher may be what stands there.
const program = process.env.COMPACTD_BIN || findInstalledBinary();
if (program === undefined) {
  console.error(`error: ${advice()}`);
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: ${program} does not start: ${error.message}`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  for (const name of signals) process.removeAllListeners(name);
  if (signal === null) process.exitCode = code;
  else process.kill(process.pid, signal);
});
