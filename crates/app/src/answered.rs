//! Reads the answer of another server, within limits of size and time.

use std::io::Read as _;
use std::time::Instant;

use reqwest::blocking::Response;

/// The bytes of an answer, at most `bytes_max` until the deadline.
pub fn read(response: &mut Response, bytes_max: usize, until: Instant) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match response.read(&mut piece).map_err(|error| error.to_string())? {
            0 => return Ok(bytes),
            n_read => bytes.extend_from_slice(&piece[..n_read]),
        }
        if bytes.len() > bytes_max {
            let (size, unit) =
                if bytes_max < 1 << 20 { (bytes_max >> 10, "KiB") } else { (bytes_max >> 20, "MiB") };
            return Err(format!("it is larger than {size} {unit}"));
        }
        // The client's time limit applies to each piece.
        if Instant::now() > until {
            return Err("it took too long".to_owned());
        }
    }
}

/// Why there is no answer: the innermost cause, because "error sending request" says little.
pub fn reason(error: &reqwest::Error) -> String {
    let mut source: &dyn std::error::Error = error;
    while let Some(inner) = source.source() {
        source = inner;
    }
    match error.status() {
        Some(status) => format!("the server says {status}"),
        None if error.is_timeout() => "nothing came in time".to_owned(),
        None => source.to_string(),
    }
}
