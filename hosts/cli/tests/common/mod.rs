//! Real processes of the real binary, on a data folder and a port of their own.
#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

/// How long a line may take before a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// A data folder, with a Runtime once it is served.
pub struct World {
    pub dir: TempDir,
    serving: Option<Process>,
}

impl World {
    /// A served workspace whose time stands still.
    pub fn serving() -> Self {
        let mut world = Self::empty();
        world.serve();
        world
    }

    pub fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), serving: None }
    }

    /// Starts the Runtime and waits for its ready line.
    pub fn serve(&mut self) -> Value {
        self.serve_at("127.0.0.1:0")
    }

    /// As [`World::serve`], without one of the MiniApps.
    pub fn serve_without(&mut self, app: &str) -> Value {
        self.serve_with(&["--listen", "127.0.0.1:0", "--without", app])
    }

    /// As [`World::serve`], at an address.
    pub fn serve_at(&mut self, address: &str) -> Value {
        self.serve_with(&["--listen", address])
    }

    /// As [`World::serve`], with the demo agent, at an address.
    pub fn serve_with_demo_agent(&mut self, address: &str) -> Value {
        self.serve_with(&["--listen", address, "--demo-agent"])
    }

    fn serve_with(&mut self, flags: &[&str]) -> Value {
        let mut serving = self.start(&[&["serve", "--clock", "manual"], flags].concat());
        let ready = serving.line();
        assert_eq!(ready["ready"], true, "{ready}");
        self.serving = Some(serving);
        ready
    }

    /// Stops the Runtime by the system's polite word, and gives its exit code.
    pub fn stop(&mut self) -> i32 {
        let mut serving = self.serving.take().expect("it is served");
        let told = Command::new("kill").args(["-TERM", &serving.child.id().to_string()]).status().unwrap();
        assert!(told.success());
        serving.exit_code()
    }

    /// Ends the Runtime as a power cut would.
    pub fn kill(&mut self) {
        drop(self.serving.take().expect("it is served"));
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lineup"));
        command.arg("--data").arg(self.path()).args(arguments).env_remove("LINEUP_DATA").env("LINEUP_LOG", "off");
        command
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Runs a command with `--json` to its end: the exit code and the lines.
    pub fn run(&self, arguments: &[&str]) -> (i32, Vec<Value>) {
        let output = self.command(arguments).arg("--json").output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (output.status.code().unwrap(), lines)
    }

    /// Runs a command that prints one line and succeeds.
    pub fn ask(&self, arguments: &[&str]) -> Value {
        let (code, mut lines) = self.run(arguments);
        assert_eq!((code, lines.len()), (0, 1), "{arguments:?}: {lines:?}");
        lines.remove(0)
    }

    /// How many rows a look has.
    pub fn rows(&self, what: &str) -> usize {
        self.ask(&["inspect", what])["rows"].as_array().unwrap().len()
    }

    /// Runs a command as people do.
    pub fn words(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts a command with `--json` that goes on.
    pub fn start(&self, arguments: &[&str]) -> Process {
        let mut child = self
            .command(arguments)
            .arg("--json")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Process { child, stdin, lines }
    }

    /// A Host that is connected, and confirms what it is asked for as its flags say.
    pub fn host(&self, flags: &[&str]) -> Process {
        let mut host = self.start(&[&["host", "attach"], flags].concat());
        host.until(|line| line["kind"] == "reported" && line["type"] == "hello");
        host
    }
}

/// A command that goes on.
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<Value>,
}

impl Process {
    /// The next line.
    pub fn line(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("a line within 30 s")
    }

    /// The next line that fits.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.line();
            if fits(&line) {
                return line;
            }
        }
    }

    /// Whether nothing has been said since.
    pub fn is_silent(&self) -> bool {
        self.lines.try_recv().is_err()
    }

    /// Says a word on its standard input.
    pub fn say(&mut self, word: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{word}").unwrap();
    }

    pub fn exit_code(&mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
