//! Escapes what XML cannot represent: identifiers from any text, and characters that XML does not allow.

/// Begins an escaped character: `␛1;` is U+0001. The character itself is escaped as `␛241b;`.
const ESCAPE: char = '\u{241b}';

/// Appends text so that every XML reader returns it unchanged, also in attributes, where line breaks would become
/// spaces.
pub fn escape(text: &str, out: &mut String) {
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", u32::from(char))),
            _ if needs_escape(char) => out.push_str(&format!("{ESCAPE}{:x};", u32::from(char))),
            _ => out.push(char),
        }
    }
}

/// Restores the characters that XML does not allow.
pub fn unescape(text: &str) -> String {
    let mut pieces = text.split(ESCAPE);
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let escaped = piece.split_once(';').and_then(|(code, rest)| {
            let char = u32::from_str_radix(code, 16).ok().and_then(char::from_u32)?;
            needs_escape(char).then_some((char, rest))
        });
        match escaped {
            Some((char, rest)) => {
                plain.push(char);
                plain.push_str(rest);
            }
            None => {
                plain.push(ESCAPE);
                plain.push_str(piece);
            }
        }
    }
    plain
}

fn needs_escape(char: char) -> bool {
    matches!(char, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}' | ESCAPE)
}

/// A reference as an XML identifier: `EP-001` is unchanged, unusual characters become hexadecimal.
/// It never contains a full stop, so identifiers with one are free for other purposes.
pub fn identifier(reference: &str) -> String {
    let starts_well = reference.starts_with(|first: char| first != '-' && !first.is_ascii_digit());
    let mut identifier = String::from(if starts_well { "" } else { "__" });
    for char in reference.chars() {
        match char {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' => identifier.push(char),
            _ => identifier.push_str(&format!("_{:x}_", u32::from(char))),
        }
    }
    identifier
}

/// The reference behind an identifier, or the identifier itself if another tool made it.
pub fn reference(identifier: &str) -> String {
    let mut pieces = identifier.strip_prefix("__").unwrap_or(identifier).split('_');
    let mut reference = pieces.next().unwrap_or_default().to_owned();
    while let (Some(code), Some(rest)) = (pieces.next(), pieces.next()) {
        match u32::from_str_radix(code, 16).ok().and_then(char::from_u32) {
            Some(char) => reference.push(char),
            None => return identifier.to_owned(),
        }
        reference.push_str(rest);
    }
    reference
}
