//! Sessions in which somebody works: requests, files, symbols and errors come back the way they do
//! in real work, most of them soon, some of them late. Each character writes another language,
//! other paths, names and tools.

use super::json::{self, Members};
use super::random::Random;

/// Who works, and on what.
#[derive(Debug, Clone, Copy)]
pub struct Character {
    /// What the session is called.
    pub name: &'static str,
    /// Directories, with the separator at their end.
    directories: &'static [&'static str],
    ending: &'static str,
    style: Style,
    /// Beginnings of requests; a path and a name follow.
    requests: &'static [&'static str],
    replies: &'static [&'static str],
    constraints: &'static [&'static str],
    /// Sentences of answers, around a name.
    answers: &'static [(&'static str, &'static str)],
    commands: &'static [&'static str],
    /// What tools print when they fail, around a name or path.
    errors: &'static [(&'static str, &'static str)],
}

/// How names are written.
#[derive(Debug, Clone, Copy)]
enum Style {
    Snake,
    Camel,
    Kebab,
    Mixed,
}

/// Syllables that names are made of.
const SYLLABLES: [&str; 24] = [
    "load", "parse", "token", "cache", "user", "theme", "row", "node", "batch", "queue", "sync", "retry", "index",
    "frame", "vault", "route", "panel", "merge", "shard", "lease", "probe", "quota", "stage", "trace",
];

/// The characters, as unlike each other as people are.
pub const CHARACTERS: [Character; 5] = [
    Character {
        name: "rust",
        directories: &["crates/core/src/", "crates/server/src/handlers/", "tests/", "xtask/src/"],
        ending: ".rs",
        style: Style::Snake,
        requests: &["Port this to the new store:", "The panic comes from here, fix it:", "Add tests for"],
        replies: &["ok", "still fails", "no, the other one", "looks good, go on"],
        constraints: &["Never use unwrap outside of tests.", "Keep the public API as it is."],
        answers: &[
            ("The root cause is that `", "` is called twice."),
            ("I'll rename it because `", "` is misleading."),
        ],
        commands: &["cargo test -p core", "cargo clippy --all-targets", "cargo build --release"],
        errors: &[("error[E0308]: mismatched types in ", ""), ("thread 'main' panicked at ", ":12:5")],
    },
    Character {
        name: "python, German",
        directories: &["src/rechner/", "src/rechner/modelle/", "tests/einheit/", "werkzeuge/"],
        ending: ".py",
        style: Style::Mixed,
        requests: &["Bitte die Berechnung umbauen in", "Da stürzt es ab, sieh dir das an:", "Schreibe Prüfungen für"],
        replies: &["ja", "nein, anders herum", "passt so", "weiter"],
        constraints: &["Bitte keine neuen Abhängigkeiten.", "You must not touch the database schema."],
        answers: &[("Die Ursache liegt in `", "`, das zu früh schließt."), ("Ich habe `", "` größer gemacht.")],
        commands: &["pytest -q tests/einheit", "ruff check src", "python -m rechner.bericht"],
        errors: &[("ModuleNotFoundError: No module named '", "'"), ("AssertionError: erwartet 3, bekommen 4 in ", "")],
    },
    Character {
        name: "c#, Windows",
        directories: &["C:\\Work\\Shop\\Api\\", "C:\\Work\\Shop\\Domain\\Orders\\", "C:\\Work\\Shop\\Tests\\"],
        ending: ".cs",
        style: Style::Camel,
        requests: &[
            "PROJ-4711: the order is lost, look at",
            "Move the validation out of",
            "Write an integration test for",
        ],
        replies: &["yes please", "that broke the login", "revert that", "fine"],
        constraints: &["Always keep the old endpoint working.", "Do not log customer data."],
        answers: &[("Decision: we keep `", "` instead of a second table."), ("The fix is in `", "` now.")],
        commands: &["dotnet test Shop.sln", "dotnet build -warnaserror", "git status --short"],
        errors: &[("error CS1061: 'Order' does not contain a definition for '", "'"), ("Could not find file '", "'.")],
    },
    Character {
        name: "web, Chinese",
        directories: &["apps/web/src/components/", "apps/web/src/hooks/", "packages/ui/lib/", "e2e/"],
        ending: ".tsx",
        style: Style::Camel,
        requests: &["请修复这个组件的渲染问题，文件在", "把状态管理移到这里，参考", "为它添加端到端测试，见"],
        replies: &["好的", "不对，还是白屏", "继续", "可以"],
        constraints: &["不要引入新的依赖。", "Always use the design tokens."],
        answers: &[("问题出在 `", "` 的依赖数组。"), ("已经把 `", "` 改成惰性加载。")],
        commands: &["pnpm test --filter web", "pnpm lint", "npx tsc --noEmit"],
        errors: &[
            ("TS2345: Argument of type 'string' is not assignable to ", ""),
            ("TypeError: Cannot read properties of undefined (reading '", "')"),
        ],
    },
    Character {
        name: "ops, Russian",
        directories: &["deploy/helm/templates/", "cmd/gateway/", "internal/lease/", "scripts/"],
        ending: ".go",
        style: Style::Kebab,
        requests: &[
            "Исправь падение сервиса, смотри",
            "Перенеси настройки отсюда:",
            "Проверь https://status.example.org/incidents/8841 и",
        ],
        replies: &["да", "не помогло", "откати", "хорошо"],
        constraints: &["Никогда не трогай продакшен.", "Make sure the rollout stays under 5 minutes."],
        answers: &[("Причина в `", "`: таймаут слишком мал."), ("Заменил `", "` на новую версию.")],
        commands: &["go test ./internal/...", "kubectl -n gate get pods", "helm upgrade gate deploy/helm"],
        errors: &[
            ("Error: UPGRADE FAILED: timed out waiting for ", ""),
            ("panic: runtime error: index out of range in ", ""),
        ],
    },
];

/// The lines of a session of `turns` turns, header first.
pub fn working(character: &Character, turns: usize, seed: u64) -> String {
    let random = Random::new(seed);
    let mut worker = Worker { character, random, lines: Vec::new(), topics: Vec::new(), calls: 0, leaf: None };
    let header = Members::new().text("type", "session").with("version", "3").text("id", character.name);
    worker.lines.push(header.text("timestamp", "2026-01-05T09:00:00.000Z").text("cwd", "/work").compact());
    (0..turns).for_each(|_| worker.turn());
    worker.lines.join("\n") + "\n"
}

/// A task with the files and names that belong to it.
#[derive(Debug, Clone)]
struct Topic {
    paths: Vec<String>,
    names: Vec<String>,
}

struct Worker<'a> {
    character: &'a Character,
    random: Random,
    lines: Vec<String>,
    topics: Vec<Topic>,
    calls: usize,
    leaf: Option<String>,
}

impl Worker<'_> {
    fn turn(&mut self) {
        if self.topics.is_empty() || self.random.chance(180) {
            let topic = self.topic();
            self.topics.push(topic);
        }
        let topic = self.current_topic();
        let character = self.character;
        let text = match self.random.below(10) {
            0..2 => (*self.random.pick(character.replies)).to_owned(),
            2 | 3 => format!("{}: {}", self.random.pick(character.replies), self.random.pick(&topic.names)),
            4 => format!("{} {}", self.random.pick(character.constraints), self.request(&topic)),
            _ => self.request(&topic),
        };
        self.message("user", Members::new().with("content", json::plain_string(&text)));
        for _ in 0..self.random.between(1, 5) {
            self.step(&topic);
        }
        let (before, after) = *self.random.pick(character.answers);
        let text = format!("{before}{}{after}", self.random.pick(&topic.names));
        self.answer(&[Members::new().text("type", "text").text("text", &text).compact()], "stop");
    }

    fn request(&mut self, topic: &Topic) -> String {
        let start = self.random.pick(self.character.requests);
        let (path, name) = (self.random.pick(&topic.paths).clone(), self.random.pick(&topic.names).clone());
        if self.random.chance(500) { format!("{start} {path} ({name})") } else { format!("{name}: {start} {path}") }
    }

    /// Work stays at a task, goes back to a recent one, and seldom to any.
    fn current_topic(&mut self) -> Topic {
        let newest = self.topics.len() - 1;
        let back = match self.random.below(20) {
            0..12 => 0,
            12..18 => self.random.below(4),
            _ => self.random.below(self.topics.len()),
        };
        self.topics[newest.saturating_sub(back)].clone()
    }

    fn topic(&mut self) -> Topic {
        let paths = (0..self.random.between(2, 5)).map(|_| self.path()).collect();
        let names = (0..self.random.between(4, 9)).map(|_| self.name()).collect();
        Topic { paths, names }
    }

    fn path(&mut self) -> String {
        let directory = self.random.pick(self.character.directories);
        let stem = format!("{}_{}", self.random.pick(&SYLLABLES), self.random.pick(&SYLLABLES));
        format!("{directory}{stem}{}{}", self.random.below(100), self.character.ending)
    }

    fn name(&mut self) -> String {
        let words: Vec<&str> = (0..self.random.between(2, 3)).map(|_| *self.random.pick(&SYLLABLES)).collect();
        let style = match self.character.style {
            Style::Mixed => *self.random.pick(&[Style::Snake, Style::Camel]),
            style => style,
        };
        match self.random.below(12) {
            0 => format!("PROJ-{}", self.random.between(100, 9999)),
            1 => format!("{:012x}", self.random.bits() >> 16),
            2 => format!("ERR_{}_{}", words[0].to_uppercase(), self.random.below(1000)),
            _ => match style {
                Style::Snake | Style::Mixed => words.join("_"),
                Style::Kebab => format!("{}-{}", words.join("-"), self.random.below(100)),
                Style::Camel => {
                    let rest = words[1..].iter().map(|word| format!("{}{}", word[..1].to_uppercase(), &word[1..]));
                    format!("{}{}", words[0], rest.collect::<String>())
                }
            },
        }
    }

    /// A call with its result.
    fn step(&mut self, topic: &Topic) {
        let path = self.random.pick(&topic.paths).clone();
        let name = self.random.pick(&topic.names).clone();
        let (tool, arguments) = match self.random.below(10) {
            0..4 => ("read", Members::new().text("path", &path)),
            4..7 => {
                ("edit", Members::new().text("path", &path).text("oldText", "x").text("newText", &format!("{name}();")))
            }
            7 => ("write", Members::new().text("path", &path).text("content", &format!("// {name}\n"))),
            _ => {
                let command: &str = self.random.pick::<&str>(self.character.commands);
                ("bash", Members::new().text("command", command))
            }
        };
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        let block = Members::new().text("type", "toolCall").text("id", &id).text("name", tool);
        self.answer(&[block.with("arguments", arguments.compact()).compact()], "toolUse");
        let fails = tool == "bash" && self.random.chance(350) || self.random.chance(20);
        let output = if fails { self.error(&path, &name) } else { self.output(tool, topic) };
        let content = Members::new().text("type", "text").text("text", &output).compact();
        let result =
            Members::new().text("toolCallId", &id).text("toolName", tool).with("content", json::array(&[content]));
        self.message("toolResult", result.with("isError", fails.to_string()));
    }

    fn error(&mut self, path: &str, name: &str) -> String {
        let (before, after) = *self.random.pick(self.character.errors);
        let subject = if self.random.chance(500) { path } else { name };
        format!("running 12 checks\n{before}{subject}{after}\n\nCommand exited with code 1")
    }

    /// What a tool prints: names of the task among many that never matter again.
    fn output(&mut self, tool: &str, topic: &Topic) -> String {
        if tool != "read" {
            return "ok, 1 change".to_owned();
        }
        let mut out = String::new();
        for line in 0..self.random.between(10, 60) {
            let name = if line % 7 == 0 { self.random.pick(&topic.names).clone() } else { self.name() };
            out.push_str(&format!("    {name}(value, {line});\n"));
        }
        out
    }

    fn answer(&mut self, blocks: &[String], stop_reason: &str) {
        let members = Members::new().with("content", json::array(blocks)).text("api", "none").text("provider", "test");
        self.message("assistant", members.text("model", "test").text("stopReason", stop_reason));
    }

    fn message(&mut self, role: &str, members: Members) {
        let id = format!("{:08x}", self.lines.len());
        let parent = self.leaf.replace(id.clone()).map_or("null".to_owned(), |parent| json::plain_string(&parent));
        let time = 1_767_603_600_000 + self.lines.len() as i64 * 1000;
        let message = Members::new().text("role", role).and(members).with("timestamp", time.to_string());
        let entry = Members::new().text("type", "message").text("id", &id).with("parentId", parent);
        let entry = entry.text("timestamp", &compaction_core::entry::iso_timestamp(time));
        self.lines.push(entry.with("message", message.compact()).compact());
    }
}
