//! Server-sent events: the messages in a stream of bytes.

/// A message longer than this is not one for us.
const MESSAGE_BYTES_MAX: usize = mcp::MESSAGE_BYTES_MAX;

/// Takes bytes as they come and gives back whole messages.
#[derive(Default)]
pub struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

/// A stream that grows without an end of its message.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl Events {
    /// Takes some bytes. Returns the messages that they complete.
    pub fn add(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut messages = Vec::new();
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.line.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                messages.extend(self.end());
            } else if let Some(data) = line.strip_prefix(b"data:") {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
        self.line.extend_from_slice(rest);
        if self.line.len() + self.data.len() > MESSAGE_BYTES_MAX { Err(TooLong) } else { Ok(messages) }
    }

    fn end(&mut self) -> Option<Vec<u8>> {
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(data).filter(|data| !data.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_however_the_bytes_are_cut() {
        let stream = b": hello\r\n\r\nid: 1\ndata: {\"a\":\ndata: 1}\n\nevent: message\r\ndata:{}\r\n\r\ndata:\n\ndata: cut";
        for length in 1..stream.len() {
            let mut events = Events::default();
            let found: Vec<String> = stream
                .chunks(length)
                .flat_map(|chunk| events.add(chunk).expect("short"))
                .map(|message| String::from_utf8(message).expect("text"))
                .collect();
            assert_eq!(found, ["{\"a\":\n1}", "{}"], "in pieces of {length}");
        }
    }

    #[test]
    fn a_message_without_end_is_given_up() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1024 * 1024];
        let n_taken = (0..20).take_while(|_| events.add(&piece).is_ok()).count();
        assert_eq!(n_taken, 10);
    }
}
