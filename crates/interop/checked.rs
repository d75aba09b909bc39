//! Stands between a client and the stdio server that it starts: passes everything on, and ends where the server sends
//! what does not fit the official schema.
//!
//! Usage: checked COMMAND [ARGUMENT...]

use std::{
    io::{self, BufRead, BufReader, Write},
    process::{Command, ExitCode, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use interop::Conversation;

fn main() -> ExitCode {
    serve().unwrap_or_else(|problem| {
        eprintln!("checked: {problem}");
        ExitCode::FAILURE
    })
}

fn serve() -> io::Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else { return Err(io::Error::other("expected a command")) };
    let mut server =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = server.stdin.take().expect("stdin is piped");
    let output = server.stdout.take().expect("stdout is piped");
    let conversation = Arc::new(Mutex::new(Conversation::default()));

    let noting = conversation.clone();
    thread::spawn(move || {
        lines(io::stdin().lock(), |line| {
            noting.lock().expect("noting does not panic").sent(line);
            input.write_all(line)
        })
    });
    let passed = lines(BufReader::new(output), |line| {
        let message = line.strip_suffix(b"\n").unwrap_or(line);
        let checked = conversation.lock().expect("checking does not panic").received(message);
        checked.map_err(io::Error::other)?;
        io::stdout().write_all(line)?;
        io::stdout().flush()
    });
    if let Err(problem) = passed {
        // It may have ended by itself.
        let _ = server.kill();
        server.wait()?;
        return Err(problem);
    }
    Ok(if server.wait()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Handles each line with its line break, which the last one may lack.
fn lines(mut input: impl BufRead, mut handle: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        handle(&line)?;
        line.clear();
    }
    Ok(())
}
