//! Stands before a server and adds the administrator's token, for programs that cannot send one.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use crate::backend::Backend;

/// Heads of requests are shorter than this.
const HEAD_MAX: usize = 64 << 10;

/// A running proxy. It ends with the process.
pub struct Proxy {
    /// Where it is.
    pub url: String,
}

impl Proxy {
    pub fn start(backend: &Backend) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let server = backend.url.trim_start_matches("http://").to_owned();
        let token = backend.token.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, token) = (server.clone(), token.clone());
                // A connection that breaks is the client's or the server's matter.
                thread::spawn(move || pass_on(client, &server, &token));
            }
        });
        Proxy { url }
    }
}

/// Passes one request on, and its answer back; the next one comes on another connection.
fn pass_on(mut client: TcpStream, server: &str, token: &str) -> io::Result<()> {
    let (head, rest) = read_head(&mut client)?;
    let mut server = TcpStream::connect(server)?;
    server.set_nodelay(true)?;
    client.set_nodelay(true)?;
    let kept = head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let mut request: String = kept.flat_map(|line| [line, "\r\n"]).collect();
    request += &format!("authorization: Bearer {token}\r\nconnection: close\r\n\r\n");
    server.write_all(request.as_bytes())?;
    server.write_all(&rest)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let copied = io::copy(&mut from_client, &mut to_server);
        // A client that has gone no longer waits for a stream.
        let _ = to_server.shutdown(Shutdown::Both);
        copied
    });
    io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Both)
}

/// The head of a request, without its last empty line, and what came with it of the body.
fn read_head(client: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            let body = read.split_off(end + 4);
            read.truncate(end);
            return Ok((String::from_utf8_lossy(&read).into_owned(), body));
        }
        match client.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ if read.len() > HEAD_MAX => return Err(io::ErrorKind::InvalidData.into()),
            length => read.extend_from_slice(&buffer[..length]),
        }
    }
}
