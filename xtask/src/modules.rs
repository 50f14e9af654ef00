//! The top-level modules of a crate use each other in one direction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::workspace::root;

/// Crates whose modules are in no circle.
const WITHOUT_CIRCLES: [&str; 5] = ["compaction-core", "session-store", "compaction-engine", "rpc-server", "compactd"];

/// Modules, and those that each of them uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Looks for circles between the top-level modules of crates that shall have none.
///
/// # Errors
/// With the modules that are in one.
pub(crate) fn check() -> anyhow::Result<()> {
    for name in WITHOUT_CIRCLES {
        let source = root().join("crates").join(name).join("src");
        let mut uses = Uses::new();
        read(&source, None, &mut uses).with_context(|| format!("failed to read {}", source.display()))?;
        let circular = circular(uses);
        if !circular.is_empty() {
            let shown: Vec<String> =
                circular.iter().map(|(module, used)| format!("{module} uses {}", joined(used))).collect();
            bail!("modules of {name} are in a circle, or lead from one to another:\n  {}", shown.join("\n  "));
        }
    }
    Ok(())
}

fn joined(modules: &BTreeSet<String>) -> String {
    modules.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Reads the files below `directory`, which belong to `module`, or at the top each to its own. The root of the
/// crate may use all of them.
fn read(directory: &Path, module: Option<&str>, uses: &mut Uses) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let owner = module.unwrap_or(&stem);
        if stem == "tests" || (module.is_none() && ["lib", "main"].contains(&stem.as_str())) {
            continue;
        }
        if path.is_dir() {
            read(&path, Some(owner), uses)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let used = used(&std::fs::read_to_string(&path)?);
            uses.entry(owner.to_owned()).or_default().extend(used.into_iter().filter(|used| used != owner));
        }
    }
    Ok(())
}

/// The modules of the crate that a file names, but for those that its tests alone need.
fn used(text: &str) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect();
    let code = code.join("\n");
    let named = code.split("crate::").skip(1).flat_map(|after| match after.strip_prefix('{') {
        Some(group) => members(group),
        None => vec![first_name(after)],
    });
    named.filter(|name| !name.is_empty()).collect()
}

/// The first names of the paths in a group, whose opening brace is gone.
fn members(group: &str) -> Vec<String> {
    let (mut depth, mut starts) = (1_usize, vec![0]);
    for (position, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => starts.push(position + 1),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    starts.into_iter().map(|start| first_name(&group[start..])).collect()
}

fn first_name(path: &str) -> String {
    path.trim_start().chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

/// What is left when modules that use no others, or that no others use, are taken away again and again.
fn circular(mut uses: Uses) -> Uses {
    loop {
        let names: BTreeSet<String> = uses.keys().cloned().collect();
        uses.values_mut().for_each(|used| used.retain(|name| names.contains(name)));
        let all_used: BTreeSet<String> = uses.values().flatten().cloned().collect();
        let before = uses.len();
        uses.retain(|name, used| !used.is_empty() && all_used.contains(name));
        if uses.len() == before {
            return uses;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_circular(uses: &[(&str, &[&str])], expected: &[&str]) {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let uses = uses.iter().map(|(name, used)| ((*name).to_owned(), owned(used))).collect();
        assert_eq!(circular(uses).into_keys().collect::<BTreeSet<_>>(), owned(expected));
    }

    #[test]
    fn there_are_no_circles() {
        check().unwrap();
    }

    #[test]
    fn circles_are_what_is_left() {
        check_circular(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])], &[]);
        check_circular(&[("a", &["b"]), ("b", &["c", "d"]), ("c", &["b"]), ("d", &[])], &["b", "c"]);
    }

    #[test]
    fn tests_and_comments_use_nothing() {
        let text = "use crate::one::Thing; // crate::two\nuse crate::{three::{A, B}, four::Other};\nfn f() { crate::five::g() }\n\
                    #[cfg(test)]\nmod tests {\n    use crate::six;\n}\n";
        let expected: BTreeSet<String> = ["one", "three", "four", "five"].map(str::to_owned).into();
        assert_eq!(used(text), expected);
    }
}
