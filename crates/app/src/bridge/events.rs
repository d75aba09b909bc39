//! Parses server-sent events: the messages in a stream of bytes.

/// The maximal size of a message that is collected.
const MESSAGE_BYTES_MAX: usize = mcp::MESSAGE_BYTES_MAX;

/// Takes bytes and returns complete messages.
#[derive(Default)]
pub struct Events {
    pieces: Pieces,
    data: Vec<u8>,
}

/// A message that exceeds the limit.
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

/// A piece of a message, for readers that do not collect it.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The message continues with this.
    Data(&'a [u8]),
    /// It is complete.
    End,
}

/// Takes bytes and returns the parts that belong to messages, without storing them.
#[derive(Default)]
pub struct Pieces {
    line: Line,
    has_data: bool,
    /// A carriage return: the end of the line, or a part of it, depending on the next byte.
    has_return: bool,
}

/// The position in a line.
enum Line {
    /// This many bytes of the field name `data:` have matched.
    Name(usize),
    /// An optional space, which does not belong to the data.
    Space,
    Data,
    /// A comment or another field, which is skipped.
    Other,
}

impl Default for Line {
    fn default() -> Self {
        Line::Name(0)
    }
}

const NAME: &[u8] = b"data:";

impl Pieces {
    /// Takes bytes until there is a piece; none when all are taken.
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
