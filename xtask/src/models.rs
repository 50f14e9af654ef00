//! Servers that others have written, asked as a provider is: LiteLLM's proxy and llama.cpp's server for
//! Python. Both are installed by pip into `target/models` and listen on this machine alone. llama.cpp
//! is compiled there, which takes ten minutes the first time.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::steps::Steps;
use crate::workspace::{cargo, root, run};

const REQUIREMENTS: &str = include_str!("models/requirements.txt");
const PROXY: &str = include_str!("models/litellm.yaml");
const TINY_MODEL: &str = include_str!("models/tiny_model.py");

/// How long a server may take until it listens. The proxy imports a great deal.
const START: Duration = Duration::from_secs(180);

/// Installs and starts the servers, and runs the tests that ask them.
///
/// # Errors
/// When something cannot be installed or does not start, or a test fails.
pub fn models() -> anyhow::Result<()> {
    let directory = root().join("target").join("models");
    std::fs::create_dir_all(&directory)?;
    let mut steps = Steps::default();
    let python = steps.run("install the servers", || installed(&directory))?;
    let (proxy, llama, upstream) = (free_port()?, free_port()?, free_port()?);
    // Both end with this function.
    let _servers = steps.run("start the servers", || {
        let servers = [start_proxy(&directory, proxy, upstream)?, start_llama(&directory, &python, llama)?];
        await_port(proxy)?;
        await_port(llama)?;
        Ok(servers)
    })?;
    steps.run("ask them", || {
        let arguments = ["test", "--package", "compaction-engine", "--test", "models", "servers", "--", "--nocapture"];
        let mut command = cargo(&arguments);
        command.env("COMPACTD_LITELLM", format!("http://127.0.0.1:{proxy}"));
        command.env("COMPACTD_LITELLM_UPSTREAM", upstream.to_string());
        command.env("COMPACTD_LLAMA_CPP", format!("http://127.0.0.1:{llama}"));
        run(&mut command)
    })?;
    steps.list();
    Ok(())
}

/// The Python of an environment that has the packages. What is there already stays.
fn installed(directory: &Path) -> anyhow::Result<PathBuf> {
    let environment = directory.join("venv");
    let python = environment.join("bin").join("python");
    let marker = directory.join("installed.txt");
    if std::fs::read_to_string(&marker).is_ok_and(|text| text == REQUIREMENTS) {
        return Ok(python);
    }
    let requirements = directory.join("requirements.txt");
    std::fs::write(&requirements, REQUIREMENTS)?;
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment)).context("python3 with venv is needed")?;
    let mut pip = Command::new(&python);
    run(pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&requirements))?;
    std::fs::write(&marker, REQUIREMENTS)?;
    Ok(python)
}

/// A server that ends when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It fails where the server has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_proxy(directory: &Path, port: u16, upstream: u16) -> anyhow::Result<Running> {
    let settings = directory.join("litellm.yaml");
    std::fs::write(&settings, PROXY.replace("UPSTREAM", &format!("127.0.0.1:{upstream}")))?;
    let mut command = Command::new(directory.join("venv").join("bin").join("litellm"));
    command.arg("--config").arg(&settings).args(["--host", "127.0.0.1", "--port", &port.to_string()]);
    // Nothing is to be looked up elsewhere.
    command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("LITELLM_TELEMETRY", "False");
    start(&mut command, &directory.join("litellm.log"))
}

fn start_llama(directory: &Path, python: &Path, port: u16) -> anyhow::Result<Running> {
    let (script, model) = (directory.join("tiny_model.py"), directory.join("tiny.gguf"));
    std::fs::write(&script, TINY_MODEL)?;
    run(Command::new(python).arg(&script).arg(&model))?;
    let mut command = Command::new(python);
    command.args(["-m", "llama_cpp.server", "--model"]).arg(&model);
    command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--n_ctx", "2048", "--n_threads", "1"]);
    start(&mut command, &directory.join("llama.log"))
}

fn start(command: &mut Command, log: &Path) -> anyhow::Result<Running> {
    let log = File::create(log)?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(Running(command.spawn().with_context(|| format!("failed to start {command:?}"))?))
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn await_port(port: u16) -> anyhow::Result<()> {
    let end = Instant::now() + START;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > end {
            bail!("no server listens on port {port} after {} s; its log is in target/models", START.as_secs());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
