//! A program that speaks over its pipes, and how fast it answers.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;

use crate::reference;
use bench_shared::measure::Measured;

/// A running program, initialized.
pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    pub fn start(mut command: Command, name: &str) -> anyhow::Result<Program> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| name.to_owned())?;
        let input = child.stdin.take();
        let output = BufReader::with_capacity(1 << 20, child.stdout.take().context("stdout is piped")?);
        let mut program = Program { child, input, output };
        program.send(&json!({"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}).to_string())?;
        program.answer()?;
        program.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        Ok(program)
    }

    fn send(&mut self, line: &str) -> anyhow::Result<()> {
        let input = self.input.as_mut().context("the program takes no more")?;
        Ok(input.write_all(format!("{line}\n").as_bytes())?)
    }

    /// The next answer; what the program says by itself is passed over.
    fn answer(&mut self) -> anyhow::Result<String> {
        loop {
            let mut line = String::new();
            anyhow::ensure!(self.output.read_line(&mut line)? > 0, "the program has ended");
            if line.contains("\"id\":") {
                anyhow::ensure!(
                    !line.contains("\"error\":{") && !line.contains("\"isError\":true"),
                    "{line}"
                );
                return Ok(line);
            }
        }
    }

    /// Keeps so many requests in flight for some time.
    pub fn window(&mut self, in_flight: usize, time: Duration) -> anyhow::Result<Measured> {
        // The first request opens connections.
        self.send(&request(0))?;
        self.answer()?;
        let started = Instant::now();
        let mut sent = Vec::new();
        let mut latencies_us = Vec::new();
        for _ in 0..in_flight {
            sent.push(Instant::now());
            self.send(&request(sent.len() as u64))?;
        }
        while latencies_us.len() < sent.len() {
            let line = self.answer()?;
            let id = line.split("\"id\":").nth(1).and_then(|rest| rest.split([',', '}']).next());
            let number: usize = id.context("an id")?.trim().parse()?;
            latencies_us.push(sent[number - 1].elapsed().as_micros() as u32);
            if started.elapsed() < time {
                sent.push(Instant::now());
                self.send(&request(sent.len() as u64))?;
            }
        }
        Ok(Measured::new(latencies_us, started.elapsed(), Duration::ZERO))
    }

    /// Sends all at once, and returns how many were answered in which time.
    pub fn all_at_once(&mut self, n_requests: u64) -> anyhow::Result<(u64, Duration)> {
        let mut input = self.input.take().context("the program takes no more")?;
        let started = Instant::now();
        let sender = std::thread::spawn(move || -> std::io::Result<()> {
            let all: String = (1..=n_requests).map(|number| request(number) + "\n").collect();
            input.write_all(all.as_bytes())
        });
        let mut n_answers = 0;
        while n_answers < n_requests && self.answer().is_ok() {
            n_answers += 1;
        }
        sender.join().expect("no thread panics")?;
        Ok((n_answers, started.elapsed()))
    }
}

fn request(number: u64) -> String {
    json!({"jsonrpc": "2.0", "id": number, "method": "tools/call",
           "params": {"name": "get_entity", "arguments": {"reference": reference(number)}}})
    .to_string()
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
