//! Text from outside, such as names, notices and errors of a server: what of it may be shown, and in which form.

use std::fmt::Write as _;

/// Characters of a text that are shown; what is longer is cut, and says so.
pub const MOST_CHARACTERS: usize = 4_000;

/// True for what moves a cursor, ends a line for some readers and not for others, turns the direction of a text, or cannot be seen.
pub const fn is_harmful(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Text in one line, of a length that people read: ends of lines become spaces, and other harmful characters a sign for them.
pub fn plain(text: &str) -> String {
    let harmless = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if is_harmful(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    let mut shown: String = text.chars().take(MOST_CHARACTERS).map(harmless).collect();
    if text.len() > MOST_CHARACTERS {
        let all = text.chars().count();
        if all > MOST_CHARACTERS {
            let _ = write!(shown, "… (cut: {all} characters)");
        }
    }
    shown
}

/// A whole page of text: lines stay lines.
pub fn page(text: String) -> String {
    let is_harmful = |c: char| is_harmful(c) && !matches!(c, '\n' | '\r' | '\t');
    if text.contains(is_harmful) { text.replace(is_harmful, "\u{fffd}") } else { text }
}

/// A page for a terminal, which may have colours and nothing else that drives one.
pub fn page_with_colours(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (number, part) in text.split('\u{1b}').enumerate() {
        if number > 0 {
            shown.push(if is_colour(part) { '\u{1b}' } else { char::REPLACEMENT_CHARACTER });
        }
        shown.push_str(&page(part.to_owned()));
    }
    shown
}

/// True for what follows the first sign of a sequence that changes the colour: `[1;31m`.
fn is_colour(text: &str) -> bool {
    let numbers = text.strip_prefix('[').and_then(|text| text.split_once('m'));
    numbers.is_some_and(|(numbers, _)| numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
}

/// A JSON document that says the same, with harmful characters escaped: JSON itself asks for that up to U+001F alone.
pub fn json(document: &str) -> String {
    let is_harmful = |c: char| is_harmful(c) && c > '\u{1f}';
    if !document.contains(is_harmful) {
        return document.to_owned();
    }
    let mut escaped = String::with_capacity(document.len());
    for character in document.chars() {
        if is_harmful(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// What stands for a secret.
const HIDDEN: &str = "***";
/// Secrets of fewer bytes are found in quotes alone: each is a part of some word, or a word.
const SHORT: usize = 4;

/// The text without the secret: wherever it stands, as it is, encoded as URLs and forms have it in whole or in part, with its quotes and
/// signs escaped as SQL, JSON, C or HTML do it, or with characters in between that can't be seen. `None` if it isn't there.
pub fn without(text: &str, secret: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let first = *secret.as_bytes().first()?;
    // Most places are none where it may begin, whatever its form: long texts are searched for many secrets.
    let may_begin = |byte: u8| byte == first || b"%\\&".contains(&byte) || (first == b' ' && byte == b'+');
    let is_quote = |at: Option<&u8>| at.is_some_and(|byte| b"'\"`".contains(byte));
    let is_quoted =
        |at: usize, end: usize| is_quote(at.checked_sub(1).and_then(|at| bytes.get(at))) && is_quote(bytes.get(end));
    let (mut hidden, mut from, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        let found = may_begin(bytes[at]).then(|| end_of_secret(text, secret, at)).flatten();
        let end = found.filter(|end| {
            let is_whole = text.is_char_boundary(at) && text.is_char_boundary(*end);
            is_whole && (secret.len() >= SHORT || is_quoted(at, *end))
        });
        match end {
            Some(end) => {
                hidden.push_str(&text[from..at]);
                hidden.push_str(HIDDEN);
                (from, at) = (end, end);
            }
            None => at += 1,
        }
    }
    (from > 0).then(|| hidden + &text[from..])
}

/// Where the secret ends that begins here, if one does. Each of its characters may stand there in several ways, and a text may mix them:
/// all ways are followed at once. Of several ends the last counts.
fn end_of_secret(text: &str, secret: &str, start: usize) -> Option<usize> {
    let mut places = vec![start];
    let mut buffer = [0; 4];
    for c in secret.chars() {
        let mut next = Vec::new();
        for place in places {
            add(&mut next, as_a_whole(text.as_bytes().get(place..).unwrap_or_default(), c).map(|step| place + step));
            let mut parts = vec![place];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                let mut behind = Vec::new();
                for at in &parts {
                    add(&mut behind, behind_byte(text, byte, start, *at));
                }
                parts = behind;
            }
            add(&mut next, parts);
        }
        if next.is_empty() {
            return None;
        }
        places = next;
    }
    places.into_iter().max()
}

/// Adds places that are not there yet.
fn add(places: &mut Vec<usize>, more: impl IntoIterator<Item = usize>) {
    for place in more {
        if !places.contains(&place) {
            places.push(place);
        }
    }
}

/// Behind which bytes a byte of a secret may end that begins at `at`.
fn behind_byte(text: &str, byte: u8, start: usize, mut at: usize) -> impl Iterator<Item = usize> + use<> {
    let bytes = text.as_bytes();
    // What can't be seen parts no secret, unless it is a part of it.
    while at > start && bytes.get(at) != Some(&byte) {
        let Some(unseen) = text.get(at..).and_then(|rest| rest.chars().next()).filter(|c| is_harmful(*c)) else {
            break;
        };
        at += unseen.len_utf8();
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let octal = |digits: &[u8]| {
        let text = std::str::from_utf8(digits).ok()?;
        u8::from_str_radix(text, 8).ok()
    };
    let steps = [
        (rest.first() == Some(&byte)).then_some(1),
        // A blank in a form.
        (byte == b' ' && rest.first() == Some(&b'+')).then_some(1),
        // Quotes are doubled in SQL.
        (b"'\"`".contains(&byte) && rest.starts_with(&[byte, byte])).then_some(2),
        rest.starts_with(&[b'\\', byte]).then_some(2),
        matches!(rest, [b'%', high, low, ..] if hex(*high, *low) == Some(byte)).then_some(3),
        matches!(rest, [b'\\', b'x', high, low, ..] if hex(*high, *low) == Some(byte)).then_some(4),
        matches!(rest, [b'\\', digits @ ..] if digits.get(..3).and_then(octal) == Some(byte)).then_some(4),
    ];
    steps.into_iter().flatten().map(move |step| at + step)
}

/// Signs that JSON and C write with a letter.
const LETTERS: [(char, u8); 3] = [('\n', b'n'), ('\r', b'r'), ('\t', b't')];
/// Signs that HTML writes with a name.
const ENTITIES: [(char, &str); 6] =
    [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&apos;"), ('\'', "&#39;")];

/// How many bytes a character of a secret takes here where it is written as a whole: `\n`, `\u00e4`, `&amp;`.
fn as_a_whole(rest: &[u8], c: char) -> Option<usize> {
    let letter = LETTERS.iter().any(|(sign, letter)| *sign == c && rest.starts_with(&[b'\\', *letter]));
    let entity = ENTITIES.iter().find(|(sign, name)| *sign == c && rest.starts_with(name.as_bytes()));
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units);
    let is_unit = |(at, unit): (usize, &u16)| {
        let digits = rest.get(6 * at..6 * at + 6).and_then(|part| part.strip_prefix(b"\\u"));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) == Some(*unit)
    };
    let escaped = units.iter().enumerate().all(is_unit).then_some(6 * units.len());
    letter.then_some(2).or(entity.map(|(_, name)| name.len())).or(escaped)
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_with_a_percent_sign_is_found_as_it_is_and_encoded() {
        for secret in ["100%sure", "hunter%25word", "%41bc%", "a%zzb"] {
            let encoded = secret.bytes().fold(String::new(), |text, byte| text + &format!("%{byte:02X}"));
            let in_a_url = secret.replace('%', "%25");
            for form in [secret, &encoded, &in_a_url, &secret.replace('%', "%25").to_lowercase()] {
                let text = format!("mariadb://me:{form}@host/");
                assert_eq!(without(&text, secret).as_deref(), Some("mariadb://me:***@host/"), "{secret} as {form}");
            }
        }
    }

    #[test]
    fn text_from_outside_cannot_drive_a_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\nc\u{202e}d"), "a\u{fffd}[31mb c\u{fffd}d");
        for harmful in ['\u{2028}', '\u{2029}', '\u{85}', '\u{9b}', '\u{2066}', '\u{200f}', '\u{feff}', '\u{e0041}'] {
            assert_eq!(plain(&format!("a{harmful}b")), "a\u{fffd}b", "{harmful:?}");
            assert_eq!(page(format!("a\n{harmful}b")), "a\n\u{fffd}b", "{harmful:?}");
            assert_eq!(page_with_colours(&format!("\u{1b}[1mb{harmful}\u{1b}[2J")), "\u{1b}[1mb\u{fffd}\u{fffd}[2J");
            let document = json(&serde_json::to_string(&format!("\"{harmful}\n")).unwrap());
            assert!(!document.contains(is_harmful), "{document:?}");
            assert_eq!(serde_json::from_str::<String>(&document).unwrap(), format!("\"{harmful}\n"));
        }
    }

    #[test]
    fn what_is_cut_says_so() {
        let shown = plain(&"é".repeat(10_000));
        assert!(shown.starts_with("éé") && shown.ends_with("é… (cut: 10000 characters)"));
        assert_eq!(plain(&"é".repeat(MOST_CHARACTERS)).chars().count(), MOST_CHARACTERS);
    }

    #[test]
    fn a_secret_is_found_in_all_its_forms() {
        let secret = "p@ss'wörd/1";
        for form in ["p@ss'wörd/1", "p%40ss%27w%C3%B6rd%2F1", "%70%40ss'w%c3%b6rd/1", "p@ss\\'wörd\\/1", "p@ss''wörd/1"]
        {
            assert_eq!(without(&format!("said {form}: no, {form}."), secret).unwrap(), "said ***: no, ***.", "{form}");
        }
        for form in ["p@ss'w\\u00f6rd/1", "p@ss'w\\xC3\\xb6rd/1", "p@ss'w\\303\\266rd/1", "p@ss&#39;w\\u00F6rd\\u002f1"]
        {
            assert_eq!(without(&format!("said {form}."), secret).unwrap(), "said ***.", "{form}");
        }
        let odd = "a b&<\t\"\u{1f600}";
        for form in ["a+b&amp;&lt;\\t&quot;\u{1f600}", "a%20b&<\t\\\"\\ud83d\\ude00", odd] {
            assert_eq!(without(&format!("said {form}."), odd).unwrap(), "said ***.", "{form}");
        }
        let parted = "p@\0ss'w\u{200b}\u{202e}ör\nd/1";
        assert_eq!(without(&format!("said {parted}\n!"), secret).unwrap(), "said ***\n!");
        assert_eq!(without("a\nb\t\tc", "\nb\t\t").unwrap(), "a***c");
        assert_eq!(without("p@ss'wörd/2", secret), None);
        assert_eq!(without("anything", ""), None);
    }

    #[test]
    fn a_short_secret_is_hidden_in_quotes() {
        assert_eq!(without("cannot connect as no: 'no' (no)", "no").unwrap(), "cannot connect as no: '***' (no)");
        assert_eq!(without("a database", "a"), None);
    }
}
