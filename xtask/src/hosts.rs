//! Programs that embed compactd, driven as they are: clients, editors, agents and libraries. For each of
//! them its page is followed to the letter in an empty directory, with the packages as they are published;
//! then its own tests run. Everything is installed into `target/hosts`, and Emacs by apt.

mod guide;
mod screens;
mod tools;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail, ensure};

use crate::hosts::guide::{Followed, follow};
use crate::hosts::tools::{Registry, Tools};
use crate::package::{emptied, npm_packages, wheel};
use crate::queue::several_at_a_time;
use crate::steps::{Steps, say};
use crate::workspace::{build_server, output, remove_own_package, root};

/// A program or library that embeds compactd.
struct Host {
    name: &'static str,
    /// The page that is followed, below `clients`; empty if there is none.
    page: &'static str,
    /// Commands that run in the same directory once the page has been followed.
    then: &'static str,
    /// Commands that test it beyond its page, in the directory of the page; of the workspace, if there is none.
    tests: &'static str,
    /// Whether the newer Node runs it.
    newer_node: bool,
    /// Whether it may leave files in the home directory, as what is installed there does.
    installs_in_home: bool,
    /// Whether `--quick` leaves it out, because of what it installs or how long it takes.
    long: bool,
}

/// A host of which only the page is followed.
const fn host(name: &'static str, page: &'static str) -> Host {
    Host { name, page, then: "", tests: "", newer_node: false, installs_in_home: false, long: false }
}

/// The adapter has the type that the SDK wants and takes its model, in its older and its newest version.
const AI_SDK: &str = r#"node ../compactd/clients/adapters/ai-sdk/summaries.mjs
npm install --silent --save-dev typescript @types/node
cat > typed.ts <<'END'
import { AiSdkHistory } from "compactd-client/ai-sdk";
import { generateText, type LanguageModel, type ModelMessage } from "ai";

export async function ask(model: LanguageModel, messages: ModelMessage[]): Promise<ModelMessage[]> {
  const history = new AiSdkHistory({ contextWindow: 200_000, model });
  await generateText({ model, messages, prepareStep: history.prepareStep });
  return history.fit(messages);
}
END
npx tsc --noEmit --strict --skipLibCheck --target es2022 --module nodenext --types node typed.ts
grep '"version"' node_modules/ai/package.json"#;

/// Each schema alone is input for a generator, too, and names are those of the protocol.
const GENERATED: &str = r#"npx json2ts --input ../compactd/protocol/schemas --output each
npx tsc
test $(ls each | wc -l) -gt 90
cat types.ts quick.ts models.py > all.txt
if grep -E '^(export (interface|type|enum)|class) \w*([0-9]|Purple|Fluffy)' all.txt; then exit 1; fi"#;

/// The version that the page installs, and the newest one with the dependencies that are published.
const PI: &str = r#"mkdir newest
cp ../compactd/tests/interop/package.json ../compactd/tests/interop/package-lock.json newest
(cd newest && npm ci --silent --ignore-scripts)
for program in node_modules/.bin/pi newest/node_modules/.bin/pi; do
    for test in rpc alternating; do
        node ../compactd/clients/pi/test/$test.mjs $program node_modules/compactd-client/dist/src/pi.js
    done
done"#;

const HOSTS: &[Host] = &[
    Host {
        // The TypeScript before the newest one, and what is said where the program is missing.
        then: "npm install --silent --save-dev typescript@6
npx tsc --strict --target es2022 --module nodenext --types node first.ts
rm -r node_modules/@compactd
if PATH=$(dirname $(which node)) node first.js 2>missing.txt; then exit 1; fi
grep 'Install again without --omit=optional' missing.txt
if npx compactd --version 2>missing.txt; then exit 1; fi
grep 'set COMPACTD_BIN' missing.txt",
        ..host("typescript", "typescript/README.md")
    },
    Host {
        then: "test -x .venv/bin/compactd
.venv/bin/pip install --quiet mypy
.venv/bin/python -m mypy --strict first.py second.py
rm .venv/bin/compactd
if .venv/bin/python first.py 2>missing.txt; then exit 1; fi
grep 'Install a wheel for this platform' missing.txt",
        ..host("python", "python/README.md")
    },
    Host { installs_in_home: true, ..host("rust", "rust/README.md") },
    Host {
        tests: "nvim --headless --clean -l test/run.lua",
        installs_in_home: true,
        ..host("neovim", "neovim/README.md")
    },
    Host {
        tests: "emacs --batch -Q -L . -l test/run.el
emacs --batch -Q -l ../../tests/habits/jsonrpc_el.el
emacs --batch -Q --eval '(setq byte-compile-error-on-warn t byte-compile-dest-file-function (lambda (_) (make-temp-file \"compactd\")))' \
    -f batch-byte-compile compactd.el",
        installs_in_home: true,
        ..host("emacs", "emacs/README.md")
    },
    Host {
        then: "python3 -m zipfile -l extension/dist/compactd.vsix | grep extension/dist/src/extension.js",
        tests: "npm ci --ignore-scripts && npm test",
        newer_node: true,
        installs_in_home: true,
        ..host("vscode", "vscode/README.md")
    },
    Host {
        then: PI,
        newer_node: true,
        long: true,
        ..host("pi", "pi/README.md")
    },
    Host {
        then: "node ../compactd/clients/opencode/test/run.mjs node_modules/.bin/opencode \\
    node_modules/compactd-client/dist/src/opencode.js",
        installs_in_home: true,
        long: true,
        ..host("opencode", "opencode/README.md")
    },
    Host {
        then: "node ../compactd/clients/openclaw/test/run.mjs node_modules/openclaw/openclaw.mjs node_modules/compactd-client",
        newer_node: true,
        installs_in_home: true,
        long: true,
        ..host("openclaw", "openclaw/README.md")
    },
    // The official SDK of MCP drives the server.
    Host { installs_in_home: true, ..host("mcp", "mcp/README.md") },
    Host {
        then: "claude plugin validate --strict ../compactd/clients/claude-code
claude plugin validate --strict ../compactd
node ../compactd/clients/claude-code/test/run.mjs",
        installs_in_home: true,
        ..host("claude-code", "claude-code/README.md")
    },
    Host { then: AI_SDK, ..host("ai-sdk", "adapters/ai-sdk/README.md") },
    Host { then: AI_SDK, newer_node: true, long: true, ..host("ai-sdk-newest", "adapters/ai-sdk/README.md") },
    Host { then: GENERATED, long: true, ..host("generators", "generators/README.md") },
    Host {
        then: ".venv/bin/python ../compactd/clients/adapters/langchain/whole.py
.venv/bin/python ../compactd/clients/adapters/langchain/summaries.py",
        long: true,
        ..host("langchain", "adapters/langchain/README.md")
    },
    Host {
        then: ".venv/bin/python ../compactd/clients/adapters/openai-agents/whole.py
.venv/bin/python ../compactd/clients/adapters/openai-agents/summaries.py",
        long: true,
        ..host("openai-agents", "adapters/openai-agents/README.md")
    },
    Host {
        then: ".venv/bin/python ../compactd/clients/adapters/pydantic-ai/whole.py
.venv/bin/python ../compactd/clients/adapters/pydantic-ai/summaries.py",
        ..host("pydantic-ai", "adapters/pydantic-ai/README.md")
    },
    // The conformance cases once more, by a runner that was written from their page.
    Host { tests: "python3 tests/conformance/runner.py", long: true, ..host("runner", "") },
    Host { tests: include_str!("hosts/first_version.sh"), long: true, ..host("first-version", "") },
];

/// Hosts whose tests print screens, with their titles in `docs/editors.md`.
const EDITORS: [(&str, &str); 3] = [("neovim", "Neovim"), ("emacs", "Emacs"), ("vscode", "Visual Studio Code")];

/// Packages of npm that were published later are not seen, unless the newest are wanted.
const NPM_BEFORE: &str = "2026-11-22";
/// The same for pip: versions.
const PIP_CONSTRAINTS: &str = include_str!("hosts/constraints.txt");

/// Hosts that take longest, these first.
const LONGEST: [&str; 8] = ["openclaw", "pi", "opencode", "first-version", "runner", "vscode", "pydantic-ai", "mcp"];

/// Hosts that are driven at the same time. Each waits for packages, and for processes of its own that wait for each other.
const AT_ONCE: usize = 3;

/// Installs and drives all hosts, or those that `options` name: `--only NAME`, `--without NAME`, `--quick` and `--newest`.
/// Several hosts run at a time. The output of a host appears when the host ends. With `--prepare`, only the tools that
/// all of them share are installed, for which nothing of the workspace has to be built.
///
/// # Errors
/// When something cannot be installed, a page does not work as it says, or a test fails.
pub fn hosts(options: &[&str]) -> anyhow::Result<()> {
    let is_newest = options.contains(&"--newest");
    let mut chosen = chosen(options)?;
    let directory = root().join("target/hosts");
    std::fs::create_dir_all(&directory)?;
    let mut steps = Steps::default();
    let tools = steps.run("tools", || install_tools(&directory, chosen.iter().any(|host| host.name == "emacs")))?;
    if options.contains(&"--prepare") {
        steps.list();
        return Ok(());
    }
    let binary = steps.run("the server", || build_server("dev"))?;
    let packages = emptied(&directory.join("packages"))?;
    steps.run("packages", || {
        npm_packages(&packages, &binary)?;
        wheel(&packages, "dev", &tools.maturin())
    })?;
    let registry = Registry::start(&directory, &packages)?;
    let places = emptied(&std::env::temp_dir().join(format!("compactd-hosts-{}", std::process::id())))?;
    let constraints = directory.join("constraints.txt");
    std::fs::write(&constraints, PIP_CONSTRAINTS)?;
    let drive = Drive { directory, binary, packages, tools, registry, places, constraints, is_newest };
    // They begin first, so that nothing waits for one of them alone at the end.
    chosen.sort_by_key(|host| LONGEST.iter().position(|name| *name == host.name).unwrap_or(LONGEST.len()));
    let (mut table, mut failed) = (Vec::new(), Vec::new());
    several_at_a_time(
        AT_ONCE,
        chosen,
        |host| {
            let started = Instant::now();
            let driven = drive.host(host);
            (host.name, started.elapsed(), driven)
        },
        |(name, time, driven)| {
            steps.add(name, time);
            match driven {
                Ok(Driven { printed, line }) => {
                    say(&format!("\n== {name}\n{}", printed.trim_end()));
                    table.push(line);
                }
                Err(error) => {
                    say(&format!("\n== {name} FAILED\n{error:#}"));
                    failed.push(name);
                }
            }
        },
    );
    steps.list();
    say("\nFrom an empty directory to what the page shows:");
    table.iter().for_each(|line| say(line));
    say(&format!("\n{} passed, {} failed", table.len(), failed.len()));
    ensure!(failed.is_empty(), "hosts failed: {}; what they left is in {}", failed.join(", "), drive.places.display());
    Ok(std::fs::remove_dir_all(&drive.places)?)
}

/// Installs what hosts need, by pip and by apt at the same time.
fn install_tools(directory: &Path, with_emacs: bool) -> anyhow::Result<Tools> {
    std::thread::scope(|scope| {
        let emacs = scope.spawn(|| if with_emacs { tools::install_emacs() } else { Ok(()) });
        let tools = Tools::install(directory);
        emacs.join().map_err(|_| anyhow!("the installation of Emacs ended early"))??;
        tools
    })
}

fn chosen(options: &[&str]) -> anyhow::Result<Vec<&'static Host>> {
    let mut chosen: Vec<&Host> = HOSTS.iter().collect();
    let mut only = Vec::new();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        if ["--newest", "--prepare", "--quick"].contains(option) {
            continue;
        }
        let name = rest.next().with_context(|| format!("{option} needs a name"))?;
        let names: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
        ensure!(names.contains(name), "there is no host {name}; there are {}", names.join(", "));
        match *option {
            "--only" => only.push(*name),
            "--without" => {
                say(&format!("skipped: {name}"));
                chosen.retain(|host| host.name != *name);
            }
            _ => {
                bail!("unknown option {option}; there are --only NAME, --without NAME, --quick, --newest and --prepare")
            }
        }
    }
    let is_quick = only.is_empty() && options.contains(&"--quick");
    if is_quick && !options.contains(&"--prepare") {
        let long: Vec<&str> = chosen.iter().filter(|host| host.long).map(|host| host.name).collect();
        say(&format!("skipped: {}", long.join(", ")));
    }
    chosen.retain(|host| if only.is_empty() { !(is_quick && host.long) } else { only.contains(&host.name) });
    Ok(chosen)
}

/// What every host is driven with.
struct Drive {
    directory: PathBuf,
    binary: PathBuf,
    packages: PathBuf,
    tools: Tools,
    registry: Registry,
    /// Outside of the checkout, where no package manager finds what lies above it.
    places: PathBuf,
    /// Versions for pip.
    constraints: PathBuf,
    /// Whether the newest packages are installed, and not those that are known.
    is_newest: bool,
}

/// What came of a host.
struct Driven {
    /// What its tests printed.
    printed: String,
    /// A line of the table.
    line: String,
}

impl Drive {
    /// Follows the page of a host and runs its tests.
    fn host(&self, host: &Host) -> anyhow::Result<Driven> {
        let place = emptied(&self.places.join(host.name))?;
        let (empty, home) = (place.join("empty"), place.join("home"));
        std::fs::create_dir_all(&empty)?;
        std::fs::create_dir_all(&home)?;
        std::os::unix::fs::symlink(root(), place.join("compactd"))?;
        if host.page.is_empty() {
            let printed = self.run(host, host.tests, &root(), &home)?;
            return Ok(Driven { printed, line: format!("  {:<14} has no page", host.name) });
        }
        let page = root().join("clients").join(host.page);
        let followed = follow(&page, &empty, |command| self.prepare(command, host, &home))?;
        let mut printed = self.run(host, host.then, &empty, &home)?;
        if !host.installs_in_home {
            let left: Vec<_> = std::fs::read_dir(&home)?.filter_map(Result::ok).map(|item| item.path()).collect();
            ensure!(left.is_empty(), "{} leaves files in the home directory: {left:?}", host.page);
        }
        printed.push_str(&self.run(host, host.tests, page.parent().unwrap_or(&page), &home)?);
        if let Some((_, title)) = EDITORS.iter().find(|editor| editor.0 == host.name) {
            screens::check(&root().join("docs/editors.md"), title, &printed)?;
        }
        Ok(Driven { printed, line: line(host.name, &followed) })
    }

    /// Runs commands and gives what they print; the built server is in their environment where they test the
    /// checkout.
    fn run(&self, host: &Host, commands: &str, directory: &Path, home: &Path) -> anyhow::Result<String> {
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", &format!("exec 2>&1\n{commands}")]);
        shell.current_dir(directory).stdin(Stdio::null());
        self.prepare(&mut shell, host, home);
        if directory.starts_with(root()) {
            shell.env("COMPACTD_BIN", &self.binary);
        }
        output(&mut shell)
    }

    /// A home of its own, the packages at hand, and what is installed in reach.
    fn prepare(&self, command: &mut Command, host: &Host, home: &Path) {
        let cache = self.directory.join("cache");
        let joined = |parts: [&OsStr; 2], separator: &str| parts.join(OsStr::new(separator));
        let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
        let installed = joined([home.join("cargo/bin").as_os_str(), home.join("npm/bin").as_os_str()], ":");
        let tools = joined([&self.tools.path(host.newer_node), &installed], ":");
        command.env("HOME", home).env("PATH", joined([&tools, &variable("PATH")], ":")).env_remove("COMPACTD_BIN");
        command.env("npm_config_registry", &self.registry.address).env("npm_config_cache", cache.join("npm"));
        command.env("npm_config_update_notifier", "false").env("npm_config_audit", "false");
        command.env("npm_config_userconfig", &self.registry.settings);
        command.env("PIP_FIND_LINKS", joined([self.packages.as_os_str(), &variable("PIP_FIND_LINKS")], " "));
        command.env("PIP_CACHE_DIR", cache.join("pip")).env("PYTHONDONTWRITEBYTECODE", "1");
        if self.is_newest {
            command.env("NEWEST_PACKAGES", "1");
        } else {
            command.env("npm_config_before", NPM_BEFORE).env("PIP_CONSTRAINT", &self.constraints);
        }
        for (name, directory) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            let usual = std::env::home_dir().unwrap_or_default().join(directory);
            command.env(name, std::env::var_os(name).unwrap_or_else(|| usual.into()));
        }
        remove_own_package(command);
        command.env("CARGO_TARGET_DIR", root().join("target")).env("CARGO_INSTALL_ROOT", home.join("cargo"));
        // As in the workspace: a new package takes what is built already.
        command.env("CARGO_PROFILE_DEV_LTO", "off");
        command.env("BASH_ENV", &self.tools.shell);
        command.env("npm_config_prefix", home.join("npm"));
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            command.env_remove(name);
        }
    }
}

fn line(name: &str, followed: &Followed) -> String {
    let Followed { commands, files, time } = followed;
    format!("  {name:<14} {commands:>2} commands, {files} files, {:>6}", seconds(*time))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(options: &[&str]) -> anyhow::Result<Vec<&'static str>> {
        Ok(chosen(options)?.iter().map(|host| host.name).collect())
    }

    #[test]
    fn hosts_are_left_out_by_name_alone() -> anyhow::Result<()> {
        assert_eq!(names(&[])?.len(), HOSTS.len());
        assert_eq!(names(&["--only", "emacs", "--only", "rust"])?, ["rust", "emacs"]);
        assert_eq!(names(&["--without", "emacs"])?.len(), HOSTS.len() - 1);
        assert_eq!(names(&["--newest", "--only", "emacs"])?, ["emacs"]);
        assert_eq!(names(&["--without", "emacs", "--prepare"])?.len(), HOSTS.len() - 1);
        assert_eq!(names(&["--quick"])?.len(), HOSTS.iter().filter(|host| !host.long).count());
        assert_eq!(names(&["--quick", "--only", "pi"])?, ["pi"]);
        for wrong in [&["--only"][..], &["--only", "ed"], &["--except", "rust"]] {
            assert!(names(wrong).is_err(), "{wrong:?}");
        }
        Ok(())
    }

    #[test]
    fn hosts_that_take_longest_are_there() {
        for name in LONGEST {
            assert!(HOSTS.iter().any(|host| host.name == name), "{name}");
        }
    }

    #[test]
    fn every_page_is_there() {
        for host in HOSTS.iter().filter(|host| !host.page.is_empty()) {
            assert!(root().join("clients").join(host.page).is_file(), "{}", host.page);
        }
    }
}
