//! Packages as they are published: for Cargo, for npm, for pip, and as an archive. They go to `target/packages`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::compiler::lint_while_building;
use crate::steps::Steps;
use crate::workspace::{Server, build_server, cargo, npm_ci, remove_own_package, root, run, server};

/// Where the program runs: names of Node, and the target of Rust.
struct Platform {
    os: &'static str,
    cpu: &'static str,
    target: &'static str,
}

/// Only the first one is built and tested by the project's own checks.
const PLATFORMS: [Platform; 4] = [
    Platform { os: "linux", cpu: "x64", target: "x86_64-unknown-linux-gnu" },
    Platform { os: "linux", cpu: "arm64", target: "aarch64-unknown-linux-gnu" },
    Platform { os: "darwin", cpu: "x64", target: "x86_64-apple-darwin" },
    Platform { os: "darwin", cpu: "arm64", target: "aarch64-apple-darwin" },
];

impl Platform {
    fn this() -> anyhow::Result<&'static Self> {
        let os = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
        let cpu = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let found = PLATFORMS.iter().find(|platform| (platform.os, platform.cpu) == (os, cpu));
        found.with_context(|| format!("there are no packages for {os}-{cpu}"))
    }

    fn npm_name(&self) -> String {
        format!("@compactd/{}-{}", self.os, self.cpu)
    }
}

/// Builds all packages of this platform. The programs `npm` and `maturin` are needed.
///
/// # Errors
/// When something cannot be built.
pub fn package(profile: &str) -> anyhow::Result<()> {
    let mut steps = Steps::default();
    let directory = emptied(&root().join("target/packages"))?;
    steps.run("libraries", || libraries(&directory))?;
    let binary = steps.run("the server", || build_server(profile))?;
    steps.run("packages for npm", || npm_packages(&directory, &binary))?;
    steps.run("wheel", || wheel(&directory, profile, Path::new("maturin")))?;
    steps.run("archive", || archive(&directory, &binary))?;
    steps.list();
    Ok(())
}

/// Libraries for other Rust programs: those that work without the server, and the client.
const LIBRARIES: [&str; 4] = ["compaction-core", "session-store", "compaction-engine", "compactd-client"];

/// The packages of the libraries. Cargo builds each of them from the content of its package.
///
/// # Errors
/// When a library cannot be packaged or built.
fn libraries(directory: &Path) -> anyhow::Result<()> {
    let Server { version, target_directory, .. } = server()?;
    let mut package = cargo(&["package", "--quiet", "--locked", "--allow-dirty"]);
    for name in LIBRARIES {
        package.args(["--package", name]);
    }
    run(&mut package)?;
    for name in LIBRARIES {
        let file = format!("{name}-{version}.crate");
        copy(&target_directory.join("package").join(&file), &directory.join(&file))?;
    }
    Ok(())
}

/// An empty directory at this path.
///
/// # Errors
/// When the disk does not take it.
pub(crate) fn emptied(directory: &Path) -> anyhow::Result<PathBuf> {
    if directory.exists() {
        std::fs::remove_dir_all(directory)?;
    }
    std::fs::create_dir_all(directory)?;
    Ok(directory.to_owned())
}

/// The package of the client, and the package that holds the program for this platform.
///
/// # Errors
/// When npm fails.
pub(crate) fn npm_packages(directory: &Path, binary: &Path) -> anyhow::Result<()> {
    let client = root().join("clients/typescript");
    npm_ci(&client)?;
    // What no source makes any more would be published otherwise.
    let built = client.join("dist");
    if built.exists() {
        std::fs::remove_dir_all(built)?;
    }
    run(Command::new("npm").args(["run", "--silent", "build"]).current_dir(&client))?;
    let platform = Platform::this()?;
    let staged = emptied(&directory.join("npm"))?;
    npm_pack(directory, &stage_client(&staged.join("client"), &client)?)?;
    npm_pack(directory, &stage_platform(&staged.join("platform"), platform, binary)?)?;
    Ok(std::fs::remove_dir_all(&staged)?)
}

/// The client as it is published: npm installs the one of its optional packages that fits the machine.
fn stage_client(staged: &Path, client: &Path) -> anyhow::Result<PathBuf> {
    for name in ["bin", "dist/src", "openclaw.plugin.json", "README.md"] {
        copy(&client.join(name), &staged.join(name))?;
    }
    let mut manifest: Value = serde_json::from_str(&std::fs::read_to_string(client.join("package.json"))?)?;
    let version = manifest["version"].clone();
    manifest["optionalDependencies"] =
        PLATFORMS.iter().map(|platform| (platform.npm_name(), version.clone())).collect();
    let members = manifest.as_object_mut().context("a package.json is an object")?;
    members.remove("scripts");
    members.remove("devDependencies");
    write_manifest(staged, &manifest)
}

fn stage_platform(staged: &Path, platform: &Platform, binary: &Path) -> anyhow::Result<PathBuf> {
    copy(binary, &staged.join("bin").join(binary.file_name().context("a program has a name")?))?;
    let name = platform.npm_name();
    std::fs::write(staged.join("README.md"), format!("# {name}\n\nThe program compactd for {}.\n", platform.target))?;
    write_manifest(
        staged,
        &json!({
            "name": name,
            "version": server()?.version,
            "description": format!("The program compactd for {}.", platform.target),
            "license": "MIT",
            "repository": { "type": "git", "url": env!("CARGO_PKG_REPOSITORY") },
            "os": [platform.os],
            "cpu": [platform.cpu],
            "files": ["bin"],
            "preferUnplugged": true,
        }),
    )
}

fn write_manifest(staged: &Path, manifest: &Value) -> anyhow::Result<PathBuf> {
    copy(&root().join("LICENSE"), &staged.join("LICENSE"))?;
    std::fs::write(staged.join("package.json"), serde_json::to_string_pretty(manifest)? + "\n")?;
    Ok(staged.to_owned())
}

fn npm_pack(directory: &Path, staged: &Path) -> anyhow::Result<()> {
    let mut pack = Command::new("npm");
    run(pack.args(["pack", "--silent", "--pack-destination"]).arg(directory).current_dir(staged))
}

/// The wheel: the Python client with the program.
///
/// # Errors
/// When maturin fails, or `pyproject.toml` names another crate than the one that has the program.
pub(crate) fn wheel(directory: &Path, profile: &str, maturin: &Path) -> anyhow::Result<()> {
    let client = root().join("clients/python");
    let Server { manifest, .. } = server()?;
    let crate_directory = manifest.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let line = format!("manifest-path = \"../../crates/{crate_directory}/Cargo.toml\"");
    if !std::fs::read_to_string(client.join("pyproject.toml"))?.contains(&line) {
        bail!("clients/python/pyproject.toml must say {line}: the program is in {}", manifest.display());
    }
    let mut build = Command::new(maturin);
    remove_own_package(&mut build);
    if profile == "dev" {
        share_the_build(&mut build)?;
    }
    run(build.args(["build", "--locked", "--profile", profile, "--out"]).arg(directory).current_dir(client))
        .context("maturin is installed by `pip install maturin`")
}

/// Makes maturin take what the tests have built. Cargo shares that with builds of the whole workspace alone, and maturin
/// asks it for one program of one package. So it finds a cargo that builds that program as a part of the workspace.
fn share_the_build(maturin: &mut Command) -> anyhow::Result<()> {
    let cargo = std::env::var("CARGO").context("cargo runs this program, and says where it lies")?;
    let directory = root().join("target/compiler/of-maturin");
    std::fs::create_dir_all(&directory)?;
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = rustc ] && shift && set -- build --workspace \"$@\"\nexec '{}' \"$@\"\n",
        cargo.replace('\'', "'\\''")
    );
    let program = directory.join("cargo");
    std::fs::write(&program, script)?;
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755))?;
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(directory).chain(std::env::split_paths(&paths));
    maturin.env("PATH", std::env::join_paths(paths)?);
    lint_while_building(maturin)
}

/// The program with its licence, for those who install nothing.
fn archive(directory: &Path, binary: &Path) -> anyhow::Result<()> {
    let name = format!("compactd-{}-{}", server()?.version, Platform::this()?.target);
    let staged = directory.join(&name);
    for file in [binary, &root().join("README.md"), &root().join("LICENSE")] {
        copy(file, &staged.join(file.file_name().context("a file has a name")?))?;
    }
    let archive = format!("{name}.tar.gz");
    run(Command::new("tar").args(["--create", "--gzip", "--file", &archive, &name]).current_dir(directory))?;
    Ok(std::fs::remove_dir_all(&staged)?)
}

/// Copies a file, or a directory with all that is in it.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    if from.is_dir() {
        for item in std::fs::read_dir(from)? {
            let name = item?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    std::fs::create_dir_all(to.parent().context("a file lies in a directory")?)?;
    std::fs::copy(from, to).with_context(|| format!("failed to copy {}", from.display()))?;
    Ok(())
}
