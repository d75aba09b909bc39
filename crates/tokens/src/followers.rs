//! Which letters follow which within words. Other pairs mostly belong to two tokens, which distinguishes abbreviations, codes
//! and random strings from words.

/// Counts adjacent letters that rarely occur in English and Russian words. Other scripts are skipped.
pub fn n_rare_pairs(letters: &str) -> usize {
    let mut n_rare = 0;
    let mut last = None;
    let mut n_same = 0;
    for letter in letters.chars() {
        let place = place(letter);
        n_same = if place == last { n_same + 1 } else { 0 };
        if let (Some((table, first)), Some((other, second))) = (last, place)
            && table == other
        {
            let followers = match table {
                Table::English => ENGLISH[first],
                Table::Russian => RUSSIAN[first],
            };
            n_rare += usize::from(followers & (1 << second) == 0 || n_same > 1);
        }
        last = place;
    }
    n_rare
}

#[derive(Clone, Copy, PartialEq)]
enum Table {
    English,
    Russian,
}

/// The table of a letter, and its place in the alphabet.
fn place(letter: char) -> Option<(Table, usize)> {
    match letter {
        'a'..='z' => Some((Table::English, letter as usize - 'a' as usize)),
        'A'..='Z' => Some((Table::English, letter as usize - 'A' as usize)),
        'а'..='я' => Some((Table::Russian, letter as usize - 'а' as usize)),
        'А'..='Я' => Some((Table::Russian, letter as usize - 'А' as usize)),
        _ => None,
    }
}

/// For each letter of the alphabet the letters that follow it in at least two words of the calibration set, as bits.
const ENGLISH: [u32; 26] = bits(
    [
        "bcdfgiklmnprstuvwxy",
        "aceijlmorstuy",
        "acdehiklorstuy",
        "abcdefgilmorstuvy",
        "abcdefghijklmnopqrstuvwxy",
        "aefgilorstuy",
        "aeghilmnorstu",
        "abeimorstu",
        "abcdefgklmnoprstvxz",
        "aeosu",
        "aeinstu",
        "abcdefiklmnopstuvy",
        "abeilmnopsu",
        "acdefgiklmnopstuvwy",
        "abcdefgijklmnoprstuvwx",
        "adeghiloprstuy",
        "lru",
        "abcdefghiklmnoprstuvwy",
        "acehiklmnopqrstuwxy",
        "acdefhilmoprstuwxy",
        "abcdefgilmnoprst",
        "aeio",
        "aehilnors",
        "acefipty",
        "beilnopstw",
        "aei",
    ],
    'a',
);

const RUSSIAN: [u32; 32] = bits(
    [
        "бвгдежзйклмнпрстуфхцчшюя",
        "аеиклнорущыя",
        "авдеиклнопрстушыя",
        "адилор",
        "авдеиклмнопртухцшыь",
        "бвгдежзйклмнопрстухцчш",
        "абдеин",
        "авдекмноуыя",
        "бвгдезийклмнрстфхцчшюя",
        "дклст",
        "авеилнорстуц",
        "агежикноуыьюя",
        "аеилмноуыя",
        "адеикнотучыья",
        "бвгдежзийклмнопрстхчшя",
        "аеилноруыя",
        "авежикмностушыья",
        "авдеиклмнопрстучыья",
        "авеикмнопрсущыья",
        "бвгдежзйклмнпрстхчшщю",
        "аиору",
        "аор",
        "аеиуы",
        "аеикнтуь",
        "аеиклно",
        "аеи",
        "",
        "бвейлмнпрстхчш",
        "зкнстцшю",
        "т",
        "бтчщ",
        "везлмнстхщю",
    ],
    'а',
);

const fn bits<const N: usize>(followers: [&str; N], alphabet: char) -> [u32; N] {
    let mut bits = [0; N];
    let mut first = 0;
    while first < N {
        let bytes = followers[first].as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            // Letters of one byte or of two.
            let letter = match bytes[at] {
                byte @ ..0x80 => byte as u32,
                byte => {
                    at += 1;
                    ((byte as u32 & 0x1f) << 6) | (bytes[at] as u32 & 0x3f)
                }
            };
            bits[first] |= 1 << (letter - alphabet as u32);
            at += 1;
        }
        first += 1;
    }
    bits
}
