//! Stands between the bridge and a server and does what networks do: refuses, hangs, drops, answers for others, dawdles.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crate::stand_in::Request;

/// What happens to one request.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// Nothing.
    Pass,
    /// The connection is closed before anything is passed on.
    Refuse,
    /// Nothing is ever answered.
    Hang,
    /// The server answers, and nothing of it arrives.
    LoseAnswer,
    /// The server answers, and this many bytes of it arrive.
    CutAnswer(usize),
    /// The server answers, nothing of it arrives, and nobody is there from then on.
    Vanish,
    /// The connection is closed when this many events of the server's stream have arrived.
    CutStream(usize),
    /// Somebody on the way answers with this status, and the seconds to wait if any.
    Status(u16, Option<u32>),
    /// The server's answer comes a byte at a time, with pauses.
    Dawdle(Duration),
}

/// A running proxy. It ends with the process.
#[derive(Clone)]
pub struct FaultProxy {
    pub url: String,
    server: String,
    faults: Arc<Mutex<VecDeque<Fault>>>,
    n_requests: Arc<AtomicUsize>,
    stream_delay: Arc<Mutex<Duration>>,
    is_gone: Arc<AtomicBool>,
}

impl FaultProxy {
    /// Stands before a server.
    pub fn start(server_url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let proxy = Self {
            url: format!("http://{}", listener.local_addr().expect("an address")),
            server: server_url.trim_start_matches("http://").to_owned(),
            faults: Arc::default(),
            n_requests: Arc::default(),
            stream_delay: Arc::default(),
            is_gone: Arc::default(),
        };
        let serving = proxy.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.is_gone.load(Ordering::Relaxed) {
                    break;
                }
                let serving = serving.clone();
                thread::spawn(move || serving.serve(&stream));
            }
        });
        proxy
    }

    /// What will happen to the next requests, one after the other; those after them pass.
    pub fn plan(&self, faults: impl IntoIterator<Item = Fault>) {
        let mut planned = self.faults.lock().expect("not poisoned");
        planned.clear();
        planned.extend(faults);
    }

    /// Holds streams of changes back for so long before they reach the server.
    pub fn delay_streams(&self, delay: Duration) {
        *self.stream_delay.lock().expect("not poisoned") = delay;
    }

    /// How many requests came, whatever happened to them.
    pub fn n_requests(&self) -> usize {
        self.n_requests.load(Ordering::Relaxed)
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        let Some(request) = Request::read(&mut reader)? else { return Ok(()) };
        // Streams of changes have their own troubles, which are not planned here.
        let is_planned = request.header("mcp-method") != "subscriptions/listen";
        let fault = match is_planned {
            true => {
                self.n_requests.fetch_add(1, Ordering::Relaxed);
                self.faults.lock().expect("not poisoned").pop_front().unwrap_or(Fault::Pass)
            }
            false => {
                let delay = *self.stream_delay.lock().expect("not poisoned");
                thread::sleep(delay);
                Fault::Pass
            }
        };
        let mut out = stream;
        match fault {
            Fault::Pass => io::copy(&mut self.forward(&request)?, &mut out).map(drop)?,
            Fault::Refuse => {}
            // Ends when the client gives up.
            Fault::Hang => drop(reader.read(&mut [0])),
            Fault::LoseAnswer => self.forward(&request)?.read_to_end(&mut Vec::new()).map(drop)?,
            Fault::Vanish => {
                self.forward(&request)?.read_to_end(&mut Vec::new())?;
                self.is_gone.store(true, Ordering::Relaxed);
                // Whoever waits for connections has to get one to notice.
                while TcpStream::connect(self.url.trim_start_matches("http://")).is_ok() {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Fault::CutAnswer(n_bytes) => {
                let mut answer = Vec::new();
                self.forward(&request)?.read_to_end(&mut answer)?;
                out.write_all(&answer[..answer.len().min(n_bytes)])?;
            }
            Fault::CutStream(n_events) => {
                let mut answer = BufReader::new(self.forward(&request)?);
                let mut n_arrived = 0;
                let mut line = Vec::new();
                while n_arrived < n_events && answer.read_until(b'\n', &mut line)? > 0 {
                    if line.starts_with(b"data: ") {
                        // An event ends with an empty line.
                        answer.read_until(b'\n', &mut line)?;
                        n_arrived += 1;
                    }
                    out.write_all(&std::mem::take(&mut line))?;
                }
            }
            Fault::Status(status, seconds) => {
                let wait = seconds.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
                let body = "<html>somebody else</html>";
                let n_bytes = body.len();
                write!(
                    out,
                    "HTTP/1.1 {status} No\r\n{wait}content-length: {n_bytes}\r\nconnection: close\r\n\r\n{body}"
                )?;
            }
            Fault::Dawdle(pause) => {
                let mut answer = Vec::new();
                self.forward(&request)?.read_to_end(&mut answer)?;
                for byte in answer {
                    out.write_all(&[byte])?;
                    thread::sleep(pause);
                }
            }
        }
        stream.shutdown(Shutdown::Both)
    }

    /// Passes a request on. The answer ends with the connection.
    fn forward(&self, request: &Request) -> io::Result<TcpStream> {
        let mut server = TcpStream::connect(&self.server)?;
        let mut head = request.line.clone();
        for (name, value) in request.headers.iter().filter(|(name, _)| *name != "connection") {
            head += &format!("{name}: {value}\r\n");
        }
        head += "connection: close\r\n\r\n";
        server.write_all(&[head.as_bytes(), &request.body].concat())?;
        Ok(server)
    }
}
