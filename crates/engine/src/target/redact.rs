//! What is shown of a target: passwords are hidden wherever they may stand. What engines' targets look like is theirs to say;
//! of one that nobody has registered, less is shown.

use std::sync::OnceLock;

/// How the targets of an engine are written, as far as it matters for what is shown of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Notation {
    /// The engine's schemes.
    pub schemes: &'static [&'static str],
    /// True if a path follows the scheme, which has neither user nor password.
    pub is_path: bool,
    /// Parameters that hold no secret, with blanks between them. They are shown behind a password; anything else there may be the
    /// password's end, after a '&' in it.
    pub shown: &'static str,
    /// Texts without a scheme that are targets of the engine's first scheme.
    pub pairs: Option<Pairs>,
}

/// Connection strings of keys and values, in lower case and without blanks.
#[derive(Debug, Clone, Copy)]
pub struct Pairs {
    /// Names of the server's key; one of them is in each string.
    pub server: &'static [&'static str],
    /// Other keys with values that are shown, with blanks between them.
    pub shown: &'static str,
}

impl Pairs {
    /// True for such a connection string: pairs of keys and values, the server among them, and no URL.
    pub fn are_in(&self, text: &str) -> bool {
        let before_url = text.split("://").next().unwrap_or_default();
        let mut pairs = text.split(';').filter_map(|pair| pair.split_once('='));
        before_url.contains('=') && pairs.any(|(key, _)| self.server.contains(&plain_key(key).as_str()))
    }
}

static NOTATIONS: OnceLock<Vec<Notation>> = OnceLock::new();

/// Tells how the targets of all engines are written; once, before the first is parsed.
pub fn register(notations: Vec<Notation>) {
    // A second call has nothing else to say.
    let _ = NOTATIONS.set(notations);
}

fn notations() -> &'static [Notation] {
    NOTATIONS.get().map_or(&[], Vec::as_slice)
}

/// The scheme and the pairs of a connection string.
pub(super) fn pairs_in(text: &str) -> Option<(&'static str, Pairs)> {
    let of =
        |notation: &Notation| Some((*notation.schemes.first()?, notation.pairs.filter(|pairs| pairs.are_in(text))?));
    notations().iter().find_map(of)
}

/// The name of a key in lower case and without blanks.
fn plain_key(key: &str) -> String {
    key.chars().filter(|c| !c.is_whitespace() && *c != '_').collect::<String>().to_ascii_lowercase()
}

/// A connection string without its password, and whether it had one. A piece between semicolons that is none of the keys that
/// are known to be harmless may be a piece of a password with a semicolon in it.
pub(super) fn redact_pairs(pairs: Pairs, text: &str) -> (String, bool) {
    let mut found = false;
    let mut quoted = false;
    let mut shown: Vec<String> = Vec::new();
    for piece in text.split(';').filter(|piece| !piece.trim().is_empty()) {
        let (key, value) = piece.split_once('=').map_or(("", piece), |(key, value)| (key.trim(), value.trim()));
        let plain = plain_key(key);
        let harmless = pairs.server.contains(&plain.as_str()) || is_among(&plain, pairs.shown);
        // Behind a quote that has not been closed everything belongs to the value.
        if harmless && !quoted && !value.contains(['"', '\'', '=']) {
            shown.push(format!("{key}={value}"));
        } else {
            let is_password = is_secret(&plain) && !quoted;
            found |= is_password || quoted || plain.is_empty();
            quoted ^= value.matches(['"', '\'']).count() % 2 == 1;
            shown.push(if is_password { format!("{key}={HIDDEN}") } else { HIDDEN.to_owned() });
        }
    }
    (shown.join(";"), found)
}

/// What stands for everything that is hidden.
const HIDDEN: &str = "***";

/// The URL without passwords, and whether it had any. Drivers read such a URL in different ways, and passwords come with signs
/// that were not escaped. So whatever may be a piece of one is hidden, even if that is too much.
pub(super) fn redact(url: &str) -> (String, bool) {
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    let server = rest.strip_prefix("//");
    // A path has no user part; two slashes are a mistake there unless a third one follows.
    let is_its = |known: &&str| scheme.eq_ignore_ascii_case(known);
    let is_path = notations().iter().any(|notation| notation.is_path && notation.schemes.iter().any(is_its));
    if is_path && server.is_none_or(|rest| rest.starts_with('/')) {
        let (path, query) = split_query(rest);
        let (query, found) = redact_query(query);
        return (format!("{scheme}:{path}{query}"), found);
    }
    let Some(rest) = server else { return (format!("{scheme}:{HIDDEN}"), true) };
    let (before, query) = split_query(rest);
    // The '@' behind a '?' ends either a password with a '?' in it or a piece of a parameter.
    let doubtful = query.is_some_and(|query| query.contains('@')) && find_colon(before).is_some();
    let (user, after) = before.rsplit_once('@').map_or((None, before), |(user, after)| (Some(user), after));
    // Properties as JDBC has them: no driver of ours reads them, and one may be a password with any sign in it.
    let properties = before.find(';').is_some_and(|start| rest[start..].contains('='));
    if doubtful || properties || !ports_are_numbers(after) {
        let name = &rest[..rest.find([':', '@', '/', '?', ';']).unwrap_or(rest.len())];
        let name = &name[..find_colon(name).unwrap_or(name.len())];
        return (format!("{scheme}://{name}:{HIDDEN}"), true);
    }
    let (query, in_query) = redact_query(query);
    let colon = user.and_then(find_colon);
    let user = match (user, colon) {
        (Some(user), Some(colon)) => format!("{}:{HIDDEN}@", &user[..colon]),
        (Some(user), None) => format!("{user}@"),
        (None, _) => String::new(),
    };
    (format!("{scheme}://{user}{after}{query}"), in_query || colon.is_some())
}

fn split_query(text: &str) -> (&str, Option<&str>) {
    text.split_once('?').map_or((text, None), |(before, query)| (before, Some(query)))
}

/// Where the first colon is, escaped or not.
fn find_colon(text: &str) -> Option<usize> {
    let escaped = text.to_ascii_lowercase().find("%3a");
    text.find(':').into_iter().chain(escaped).min()
}

/// True if `hosts` (up to the first slash) name their ports by numbers. What else follows a colon may be a password
/// with its '@' missing.
fn ports_are_numbers(hosts: &str) -> bool {
    let hosts = hosts.split('/').next().unwrap_or_default();
    hosts.split(',').all(|host| {
        let host = host.strip_prefix('[').and_then(|host| host.split_once(']')).map_or(host, |(_, port)| port);
        let number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        find_colon(host).is_none_or(|colon| host[colon..].strip_prefix(':').is_some_and(number))
    })
}

/// The query with its question mark, without the values of keys that sound like a password.
fn redact_query(query: Option<&str>) -> (String, bool) {
    let Some(query) = query else { return (String::new(), false) };
    let key = |pair: &str| pair.split('=').next().map_or(0, str::len);
    // An escaped key may be any word, and a '@' says that this may be no query but the end of a password.
    if query.contains('@') || query.split('&').any(|pair| pair[..key(pair)].contains('%')) {
        return (format!("?{HIDDEN}"), true);
    }
    let mut found = false;
    let mut shown = Vec::new();
    for pair in query.split('&') {
        let (key, value) = pair.split_at(key(pair));
        if is_secret(key) {
            found = true;
            shown.push(format!("{key}={HIDDEN}"));
        } else if !found || (!value.is_empty() && is_shown(key)) {
            shown.push(pair.to_owned());
        } else {
            shown.push(HIDDEN.to_owned());
        }
    }
    (format!("?{}", shown.join("&")), found)
}

fn is_secret(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    ["pass", "pasw", "pwd", "token", "secret"].iter().any(|word| lower.contains(word)) && !is_shown(key)
}

/// Whether a parameter of that name holds no secret on any engine, whatever it is called.
fn is_shown(key: &str) -> bool {
    notations().iter().any(|notation| is_among(key, notation.shown))
}

fn is_among(key: &str, keys: &str) -> bool {
    keys.split(' ').any(|known| known == key)
}

/// Hides the passwords of everything in a text that looks like a URL or a part of one: for messages that repeat what
/// somebody typed.
///
/// A word with `://` is shown as [`Target::display`] shows it, `scheme:user:password@host` as `scheme:***`, and of
/// `password=word` only the key remains. If a URL has a colon and no '@' but a later word has one, a password with blanks
/// may lie in between, and all of it is hidden.
pub fn mask_urls(text: &str) -> String {
    // Values of connection strings may hold blanks, so their end is not to be seen: all of it goes.
    if let Some(start) = password_in_connection_string(text) {
        return format!("{}{HIDDEN}", mask_words(&text[..start]));
    }
    mask_words(text)
}

/// Hides passwords in a name that comes from elsewhere, such as that of a volume or a job of another tool. Nobody knows how such a name is
/// written, so all that follows a word for a secret and a sign behind it is hidden.
pub fn mask_name(text: &str) -> String {
    let masked = mask_urls(text);
    let mut signs = masked.match_indices(['=', ':']);
    let secret = signs.find(|(at, _)| {
        let before = masked[..*at].trim_end_matches(|c: char| c.is_whitespace() || c == '"' || c == '\'');
        let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').next().unwrap_or_default();
        SECRET_WORDS.iter().any(|secret| word.to_lowercase().contains(secret))
    });
    secret.map_or_else(|| masked.clone(), |(at, _)| format!("{}{HIDDEN}", &masked[..=at]))
}

/// Words in the names of secrets.
const SECRET_WORDS: [&str; 9] = ["pass", "pasw", "pwd", "pw", "token", "secret", "key", "sig", "credential"];

fn mask_words(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let blank = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        masked.push_str(&rest[..blank]);
        rest = &rest[blank..];
        let mut end = word_end(rest, 0);
        let word = &rest[..end];
        if let Some((shown, hidden)) = quoted_secret(rest, word) {
            masked.push_str(shown);
            masked.push_str(HIDDEN);
            rest = &rest[hidden..];
            continue;
        }
        let url = word.split_once("://").map(|(_, url)| url);
        if url.is_some_and(|url| find_colon(url).is_some() && !url.contains('@')) {
            end = rest.rfind('@').map_or(end, |at| word_end(rest, at));
        }
        masked.push_str(&mask_word(&rest[..end]));
        rest = &rest[end..];
    }
    masked
}

/// `password='a b'`: what stands in front of a secret in quotes, and where it ends. It may hold blanks.
fn quoted_secret<'a>(rest: &str, word: &'a str) -> Option<(&'a str, usize)> {
    let (key, value) = word.split_once('=')?;
    let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    if !is_secret(key) || key.contains(['?', '&', ':']) {
        return None;
    }
    let begin = key.len() + 1;
    let mut is_escaped = false;
    let end = rest[begin + 1..].char_indices().find(|(_, c)| {
        let ends = *c == quote && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    Some((&word[..begin], end.map_or(rest.len(), |(at, _)| begin + 1 + at + 1)))
}

/// Where the value of a password of a connection string begins, if there is one in the text.
fn password_in_connection_string(text: &str) -> Option<usize> {
    let mut start = 0;
    let mut is_string = false;
    for piece in text.split(';') {
        let key = piece.split('=').next().unwrap_or_default();
        let last_word = plain_key(key.rsplit(['\'', '"', '`', '(']).next().unwrap_or_default());
        let in_string = is_string || text[start + piece.len()..].starts_with(';');
        if in_string && key.len() < piece.len() && is_secret(&last_word) && !key.contains(['?', '&', ':']) {
            return Some(start + key.len() + 1);
        }
        is_string = true;
        start += piece.len() + 1;
    }
    None
}

fn word_end(text: &str, from: usize) -> usize {
    text[from..].find(char::is_whitespace).map_or(text.len(), |length| from + length)
}

/// Masks a word; quotes, brackets and stops around it stay, as far as they can't be the end of a password.
fn mask_word(word: &str) -> String {
    let in_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let body = word.strip_suffix(':').unwrap_or(word).trim_end_matches(['\'', '"', '`', ')', ']', '>', ',', '.', ';']);
    // A quote and a stop end a sentence; more of them may be what a password ends with.
    let tail = &word[body.len().max(word.len().saturating_sub(2))..];
    let url = |colon: &usize| body[*colon..].contains('@') || body[*colon..].contains("://");
    if let Some(colon) = body.find(':').filter(url) {
        let start = body[..colon].trim_end_matches(in_scheme).len();
        let (before, url) = body.split_at(start);
        return match before.split_once('=') {
            // `password=a:b@c` is no URL.
            Some((key, _)) if is_secret(before) => format!("{key}={HIDDEN}{tail}"),
            _ => format!("{before}{}{tail}", redact(url).0),
        };
    }
    // A piece of a query, or a parameter by itself.
    let start = body.find('?').map_or(0, |mark| mark + 1);
    let key = |pair: &str| pair.split('=').next().is_some_and(|key| key.contains('%') || is_secret(key));
    if body.contains('=') && body[start..].split('&').any(key) {
        let (query, _) = redact_query(Some(&body[start..]));
        return format!("{}{}{tail}", &body[..start], &query[1..]);
    }
    word.to_owned()
}

#[cfg(test)]
mod tests;
