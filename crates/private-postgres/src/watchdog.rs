//! The process that stops a server and removes its folder when the test process ends, also when it is killed.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use nix::unistd::{Uid, User};

/// The maximal length of the folder and the socket's name: a socket's path may have 107 bytes.
const TEMPORARY_LENGTH_MAX: usize = 60;

/// A running `watchdog.sh`; it ends, with everything it watches over, when this is dropped or its process ends.
pub struct Watchdog {
    shell: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Watchdog {
    pub fn start(binaries: &Path, pooler: Option<&Path>) -> Self {
        let temporary = env::temp_dir();
        let is_long = temporary.as_os_str().len() > TEMPORARY_LENGTH_MAX;
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", include_str!("watchdog.sh"), "watchdog"])
            .arg(if is_long { Path::new("/tmp") } else { &temporary })
            .arg(binaries)
            .args(pooler)
            // Settings of this user, such as PGPORT or a language, must not affect the server.
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()))
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .current_dir("/")
            // A signal to the process group of the test must not kill this process, too.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // An open handle would block readers of the test's output.
            .stderr(Stdio::null());
        if Uid::effective().is_root() {
            // PostgreSQL refuses to run as root. With the user, the standard library also drops root's groups.
            let user = unprivileged_user();
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        let mut shell = command.spawn().expect("/bin/sh");
        let commands = shell.stdin.take();
        let mut answers = BufReader::new(shell.stdout.take().expect("a pipe"));
        let folder = PathBuf::from(answer(&mut answers).expect("a folder for temporary files"));
        Self { shell, commands, answers, folder }
    }

    /// The folder of the server, hidden from other users.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sends a command to `watchdog.sh` and returns its answer, a number.
    pub fn tell(&mut self, command: &str) -> i32 {
        let commands = self.commands.as_mut().expect("open until dropped");
        writeln!(commands, "{command}").expect("a watchdog that listens");
        answer(&mut self.answers).and_then(|line| line.parse().ok()).expect("a watchdog that answers")
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.commands.take());
        let _ = self.shell.wait();
    }
}

fn unprivileged_user() -> User {
    let find = |name| User::from_name(name).ok().flatten();
    find("postgres")
        .or_else(|| find("nobody"))
        .expect("a user postgres or nobody, since root may not run PostgreSQL")
}

fn answer(answers: &mut BufReader<ChildStdout>) -> Option<String> {
    let mut line = String::new();
    answers.read_line(&mut line).ok()?;
    line.strip_suffix('\n').map(str::to_owned)
}
