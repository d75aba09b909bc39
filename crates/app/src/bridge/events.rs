//! Server-sent events: the messages in a stream of bytes.

/// A message longer than this is not one to be gathered.
const MESSAGE_BYTES_MAX: usize = mcp::MESSAGE_BYTES_MAX;

/// Takes bytes as they come and gives back whole messages.
#[derive(Default)]
pub struct Events {
    pieces: Pieces,
    data: Vec<u8>,
}

/// A stream that grows without an end of its message.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl Events {
    /// Takes some bytes. Returns the messages that they complete.
    pub fn add(&mut self, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut messages = Vec::new();
        while let Some(piece) = self.pieces.next(&mut bytes) {
            match piece {
                Piece::Data(data) => self.data.extend_from_slice(data),
                Piece::End => messages.push(std::mem::take(&mut self.data)),
            }
            if self.data.len() > MESSAGE_BYTES_MAX {
                return Err(TooLong);
            }
        }
        messages.retain(|message| !message.is_empty());
        Ok(messages)
    }
}

/// A piece of a message, for who does not want to hold it.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The message goes on with this.
    Data(&'a [u8]),
    /// It is whole.
    End,
}

/// Takes bytes as they come and gives back what of them belongs to messages, holding nothing.
#[derive(Default)]
pub struct Pieces {
    line: Line,
    has_data: bool,
    /// A carriage return that is the end of the line, or a part of it, depending on what follows.
    has_return: bool,
}

/// Where in a line we are.
enum Line {
    /// So many bytes are those that data begins with.
    Name(usize),
    /// A space may come, which does not belong to the data.
    Space,
    Data,
    /// Of no interest: a comment or another field.
    Other,
}

impl Default for Line {
    fn default() -> Self {
        Line::Name(0)
    }
}

const NAME: &[u8] = b"data:";

impl Pieces {
    /// Takes bytes away until there is a piece; none when all are taken.
    pub fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Piece<'a>> {
        loop {
            let byte = *bytes.first()?;
            match self.line {
                Line::Name(0) if byte == b'\r' => *bytes = &bytes[1..],
                Line::Name(n_known) if byte == b'\n' => {
                    *bytes = &bytes[1..];
                    self.line = Line::Name(0);
                    if n_known == 0 && std::mem::take(&mut self.has_data) {
                        return Some(Piece::End);
                    }
                }
                Line::Name(n_known) if byte == NAME[n_known] => {
                    *bytes = &bytes[1..];
                    let is_whole = n_known + 1 == NAME.len();
                    self.line = if is_whole { Line::Space } else { Line::Name(n_known + 1) };
                }
                Line::Name(_) => self.line = Line::Other,
                Line::Space => {
                    *bytes = bytes.strip_prefix(b" ").unwrap_or(bytes);
                    self.line = Line::Data;
                    if std::mem::replace(&mut self.has_data, true) {
                        return Some(Piece::Data(b"\n"));
                    }
                }
                Line::Data if byte == b'\n' => {
                    *bytes = &bytes[1..];
                    self.has_return = false;
                    self.line = Line::Name(0);
                }
                Line::Data if std::mem::take(&mut self.has_return) => return Some(Piece::Data(b"\r")),
                Line::Data => {
                    let n_data = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
                    let (data, rest) = bytes.split_at(n_data);
                    *bytes = rest;
                    self.has_return = data.ends_with(b"\r");
                    let data = data.strip_suffix(b"\r").unwrap_or(data);
                    if !data.is_empty() {
                        return Some(Piece::Data(data));
                    }
                }
                Line::Other => match memchr::memchr(b'\n', bytes) {
                    Some(end) => {
                        *bytes = &bytes[end + 1..];
                        self.line = Line::Name(0);
                    }
                    None => *bytes = &[],
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_however_the_bytes_are_cut() {
        let stream = b": data: hello\r\n\r\nid: 1\ndata: {\"a\":\ndata: 1\r}\n\nevent: message\r\ndata:{}\r\n\r\ndata:\n\ndata: cut";
        for length in 1..stream.len() {
            let mut events = Events::default();
            let found: Vec<String> = stream
                .chunks(length)
                .flat_map(|chunk| events.add(chunk).expect("short"))
                .map(|message| String::from_utf8(message).expect("text"))
                .collect();
            assert_eq!(found, ["{\"a\":\n1\r}", "{}"], "in pieces of {length}");
        }
    }

    #[test]
    fn a_message_without_end_is_given_up() {
        let mut events = Events::default();
        assert_eq!(events.add(b"data:"), Ok(vec![]));
        let piece = vec![b'x'; 1024 * 1024];
        let n_taken = (0..20).take_while(|_| events.add(&piece).is_ok()).count();
        assert_eq!(n_taken, 10);
    }
}
