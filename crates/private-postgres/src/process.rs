//! The processes of a server, from /proc.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};

const WAIT_MAX: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);

/// Kills a process and its children so that none of them can react to the death of another.
pub fn kill_family(parent: Pid) {
    send(parent, Signal::SIGSTOP);
    wait_until("a process to stop", || matches!(state(parent), None | Some(('T' | 'Z', _))));
    let children = children_of(parent);
    for &process in children.iter().chain([&parent]) {
        send(process, Signal::SIGKILL);
    }
    wait_until("killed processes to be gone", || {
        !children.iter().chain([&parent]).any(|&process| is_running(process))
    });
}

/// Sends a signal to a process that may have ended.
pub fn send(process: Pid, signal: Signal) {
    let _ = signal::kill(process, signal);
}

/// Returns whether a process still runs; a zombie does not.
pub fn is_running(process: Pid) -> bool {
    !matches!(state(process), None | Some(('Z' | 'X', _)))
}

/// Waits for a condition that becomes true soon.
pub fn wait_until(what: &str, mut is_done: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT_MAX;
    while !is_done() {
        assert!(Instant::now() < deadline, "waited {} s for {what}", WAIT_MAX.as_secs());
        thread::sleep(POLL);
    }
}

fn children_of(parent: Pid) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").expect("the processes").flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw))
        .filter(|&process| matches!(state(process), Some((_, its_parent)) if its_parent == parent))
        .collect()
}

/// The letter of a process's state, and its parent.
fn state(process: Pid) -> Option<(char, Pid)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it, in parentheses, may contain anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, Pid::from_raw(fields.next()?.parse().ok()?)))
}
