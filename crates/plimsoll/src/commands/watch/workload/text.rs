//! The text of a watched statement as a definition's own: signs in place of values become named parameters, and a parameter that is compared with a
//! column of a table is one of the column's values.

use plimsoll_engine::LONGEST_TEXT;

/// A statement that can be run again.
#[derive(Debug, PartialEq, Eq)]
pub struct Statement {
    /// What it does with which table: `select-orders`.
    pub name: String,
    /// The text, with `:p1`, `:p2`, ... for what was left out of it.
    pub sql: String,
    /// By parameter, the column (`table.column`) that it was compared with; absent where that is not seen.
    pub parameters: Vec<Option<String>>,
    /// Whether it changes rows.
    pub writes: bool,
}

/// Why a statement can't be run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Left {
    /// The server has lost it, or it was never read.
    NoText,
    /// It is longer than what is kept.
    Cut,
    /// A value or a list of values is left out where no parameter can stand.
    Values,
    /// It begins or ends a transaction, sets something, or is for an administrator.
    NoRequest,
    /// It is for another database.
    OtherDatabase,
}

impl Left {
    /// The reason in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoText => "whose text is not kept",
            Self::Cut => "whose text is cut off",
            Self::Values => "whose lists of values are not kept",
            Self::NoRequest => "that neither ask for rows nor change them (COMMIT, SET, VACUUM, ...)",
            Self::OtherDatabase => "of other databases",
        }
    }
}

/// First words of what asks for rows, and of what changes them; the last of these is a function as well.
const READS: [&str; 4] = ["select", "with", "values", "table"];
const WRITES: [&str; 4] = ["insert", "update", "delete", "replace"];

/// What a column may be compared with a value by.
const COMPARED: [&str; 7] = ["=", "<", ">", "<=", ">=", "<>", "!="];

/// Signs of two characters that are one.
const TWO_SIGNS: [&str; 6] = ["<=", ">=", "<>", "!=", "::", "||"];

/// What rows are locked by, behind FOR.
const LOCKS: [&str; 4] = ["update", "share", "no", "key"];

/// Words behind which no alias stands.
const NO_ALIAS: [&str; 18] = [
    "where", "set", "on", "using", "join", "inner", "left", "right", "full", "cross", "natural", "order", "group",
    "limit", "values", "for", "having", "union",
];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A name or a word, with dots between its parts.
    Word(String),
    /// What stands for a value, by its number from 0.
    Value(usize),
    /// Any other sign, or what stands in quotes and is no plain name.
    Sign(String),
}

impl Token {
    fn is_sign(&self, wanted: &str) -> bool {
        matches!(self, Self::Sign(sign) if sign == wanted)
    }

    fn is_word(&self, wanted: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(wanted))
    }

    fn word(&self) -> Option<&str> {
        if let Self::Word(word) = self { Some(word) } else { None }
    }
}

/// The text as a definition has it. Values are `$1`, `$2`, ... where they are numbered, and `?` elsewhere.
pub fn statement(text: &str, is_numbered: bool) -> Result<Statement, Left> {
    if text.chars().count() >= LONGEST_TEXT || text.trim_end().ends_with("...") {
        return Err(Left::Cut);
    }
    let (sql, tokens, count) = read(text.trim().trim_end_matches(';'), is_numbered)?;
    let first = tokens.iter().find(|token| !token.is_sign("(")).and_then(Token::word).ok_or(Left::NoRequest)?;
    let first = first.to_ascii_lowercase();
    let changes = |token: &Token| WRITES[..3].iter().any(|word| token.is_word(word));
    let locks = tokens.windows(2).any(|two| two[0].is_word("for") && LOCKS.iter().any(|word| two[1].is_word(word)));
    let writes = WRITES.contains(&first.as_str()) || locks || first == "with" && tokens.iter().any(changes);
    if !writes && !READS.contains(&first.as_str()) {
        return Err(Left::NoRequest);
    }
    let tables = tables(&tokens);
    let mut parameters = vec![None; count];
    for (at, token) in tokens.iter().enumerate() {
        if let Token::Value(number) = token {
            let column = column(&tokens, at).and_then(|column| of_table(column, &tables));
            // A value that stands in two places is one of both columns.
            parameters[*number] = parameters[*number].take().or(column);
        }
    }
    let name = name(&first, &tokens, &tables);
    Ok(Statement { name, sql, parameters, writes })
}

/// The longest name of a statement.
const LONGEST_NAME: usize = 40;

/// Its first word and its first table, as far as names of requests may have their signs.
fn name(first: &str, tokens: &[Token], tables: &[(&str, &str)]) -> String {
    let into = || tokens.windows(2).find(|two| two[0].is_word("into")).and_then(|two| two[1].word());
    let table = tables.first().map(|(table, _)| *table).or_else(into);
    let table = table.map(|table| table.rsplit('.').next().unwrap_or(table).to_ascii_lowercase());
    let all = table.map_or_else(|| first.to_owned(), |table| format!("{first}-{table}"));
    let signs = all.chars().map(|c| if c == '_' { '-' } else { c });
    signs.filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(LONGEST_NAME).collect()
}

/// The text with named parameters, and its tokens, with how many values stand in it.
fn read(text: &str, is_numbered: bool) -> Result<(String, Vec<Token>, usize), Left> {
    let (mut sql, mut tokens, mut count) = (String::with_capacity(text.len()), Vec::new(), 0);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let long = match first {
            '$' if is_numbered => rest[1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| end + 1),
            '"' | '`' | '\'' => rest[1..].find(first).map(|end| end + 2).ok_or(Left::Cut)?,
            c if is_of_word(c) => rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len()),
            _ if rest.starts_with("...") => return Err(Left::Values),
            _ if TWO_SIGNS.iter().any(|sign| rest.starts_with(sign)) => 2,
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(long);
        rest = after;
        let number = match first {
            // A server with numbers left out what it did not number.
            '?' if is_numbered => return Err(Left::Values),
            '$' if is_numbered => {
                Some(token[1..].parse().ok().filter(|number| (1..1000).contains(number)).ok_or(Left::Values)?)
            }
            '?' => Some(count + 1),
            _ => None,
        };
        if let Some(number) = number {
            count = count.max(number);
            tokens.push(Token::Value(number - 1));
            sql.push_str(":p");
            sql.push_str(&number.to_string());
            continue;
        }
        // With a blank before its bracket a function's name is none to MySQL, whose texts have blanks everywhere.
        if first == '(' && !is_numbered && tokens.last().and_then(Token::word).is_some() {
            sql.truncate(sql.trim_end().len());
        }
        sql.push_str(token);
        if first.is_whitespace() {
            continue;
        }
        let name = token.trim_matches(['"', '`']);
        let is_plain =
            !name.is_empty() && name.chars().all(is_of_word) && (first != '"' || name.to_lowercase() == name);
        match &tokens[..] {
            [.., Token::Word(_), dot] if is_plain && dot.is_sign(".") => {
                tokens.pop();
                if let Some(Token::Word(before)) = tokens.last_mut() {
                    before.push('.');
                    before.push_str(name);
                }
            }
            _ if is_plain && first != '\'' => tokens.push(Token::Word(name.to_owned())),
            _ => tokens.push(Token::Sign(token.to_owned())),
        }
    }
    Ok((sql, tokens, count))
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Tables with the names by which columns call them.
fn tables(tokens: &[Token]) -> Vec<(&str, &str)> {
    let mut tables = Vec::new();
    let word = |at: usize| tokens.get(at).and_then(Token::word);
    for (at, token) in tokens.iter().enumerate() {
        // Words between it and the name.
        let mut next = at
            + 1
            + usize::from(
                tokens.get(at + 1).is_some_and(|next| ["only", "lateral"].iter().any(|word| next.is_word(word))),
            );
        let is_before = ["from", "join", "update"].iter().any(|one| token.is_word(one));
        while let Some(table) = word(next).filter(|_| is_before) {
            next += if tokens.get(next + 1).is_some_and(|token| token.is_word("as")) { 2 } else { 1 };
            let alias = word(next).filter(|name| !NO_ALIAS.contains(&name.to_ascii_lowercase().as_str()));
            tables.push((table, alias.unwrap_or(table)));
            next += usize::from(alias.is_some());
            if !tokens.get(next).is_some_and(|token| token.is_sign(",")) {
                break;
            }
            next += 1;
        }
    }
    tables
}

/// The name that is compared with the value at a place.
fn column(tokens: &[Token], at: usize) -> Option<&str> {
    // What is reckoned with is no value of a column.
    let ends = |token: &Token| token.word().is_some() || [",", ")", ";", "::"].iter().any(|sign| token.is_sign(sign));
    if !tokens.get(at + 1).is_none_or(ends) {
        return None;
    }
    let before = |back: usize| at.checked_sub(back).map(|at| &tokens[at]);
    let is_in_list = |token: &Token| matches!(token, Token::Value(_)) || token.is_sign("(") || token.is_sign(",");
    let mut back = 1;
    while is_in_list(before(back)?) {
        back += 1;
    }
    let compared = match before(back)? {
        Token::Sign(text) | Token::Word(text) => text.to_ascii_lowercase(),
        Token::Value(_) => return None,
    };
    // A list belongs to IN alone, and what stands behind AND to its BETWEEN.
    let is_second =
        compared == "and" && matches!(before(back + 1)?, Token::Value(_)) && before(back + 2)?.is_word("between");
    let mut name = match compared.as_str() {
        "and" if is_second => back + 3,
        "in" | "between" => back + 1,
        other if COMPARED.contains(&other) && back == 1 => back + 1,
        _ => return None,
    };
    name += usize::from(before(name)?.is_word("not"));
    before(name)?.word()
}

/// The column with its table: that of its alias, or the only one.
fn of_table(column: &str, tables: &[(&str, &str)]) -> Option<String> {
    let (table, column) = match column.rsplit_once('.') {
        Some((of, column)) => {
            let is_it = |(table, alias): &&(&str, &str)| {
                let last = table.rsplit('.').next().unwrap_or(table);
                [*table, *alias, last].iter().any(|name| name.eq_ignore_ascii_case(of))
            };
            (tables.iter().find(is_it)?.0, column)
        }
        None => {
            if let [(table, _)] = tables {
                (*table, column)
            } else {
                return None;
            }
        }
    };
    Some(format!("{table}.{column}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text, and for each parameter its column, or nothing.
    fn of(text: &str, is_numbered: bool) -> (String, Vec<String>) {
        let Statement { sql, parameters, .. } = statement(text, is_numbered).unwrap();
        (sql, parameters.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn columns(text: &str) -> Vec<String> {
        of(text, true).1
    }

    #[test]
    fn a_value_that_is_compared_with_a_column_is_one_of_the_columns() {
        let text = "SELECT a FROM shop.orders WHERE id = $1 AND day BETWEEN $2 AND $3 LIMIT $4";
        let (sql, parameters) = of(text, true);
        assert_eq!(sql, "SELECT a FROM shop.orders WHERE id = :p1 AND day BETWEEN :p2 AND :p3 LIMIT :p4");
        assert_eq!(parameters, ["shop.orders.id", "shop.orders.day", "shop.orders.day", ""]);
        assert_eq!(columns("SELECT 1 FROM t WHERE id IN ($1, $2) AND NOT b = $3::int"), ["t.id", "t.id", "t.b"]);
        assert_eq!(columns("SELECT o.a FROM orders AS o JOIN lines l ON l.o = o.id WHERE l.n >= $1"), ["lines.n"]);
        assert_eq!(columns("DELETE FROM t WHERE id NOT IN ($1)"), ["t.id"]);
        assert_eq!(columns("DELETE FROM ONLY s.t WHERE id = $1"), ["s.t.id"]);
        assert_eq!(columns("UPDATE ONLY t x SET n = $1 WHERE x.id = $2"), ["t.n", "t.id"]);
        // One of two tables, a sum, and a row that is new.
        assert_eq!(columns("SELECT 1 FROM a, b x WHERE id = $1 AND x.id = $2 AND a.n = $3 + 1"), ["", "b.id", ""]);
        assert_eq!(columns("UPDATE t SET n = n + $1, m = $2 WHERE id = $3"), ["", "t.m", "t.id"]);
        assert_eq!(columns("INSERT INTO t (a, b) VALUES ($1, $2)"), ["", ""]);
    }

    #[test]
    fn signs_are_numbered_where_the_server_does_not() {
        let (sql, parameters) = of("SELECT `c` FROM `t` WHERE id = ? AND `n` = ?", false);
        assert_eq!((sql.as_str(), parameters.len()), ("SELECT `c` FROM `t` WHERE id = :p1 AND `n` = :p2", 2));
        assert_eq!(of("SELECT '?' FROM t", false).1, [""; 0]);
        // As the Performance Schema writes it.
        let (sql, parameters) =
            of("SELECT COUNT ( * ) FROM `shop` . `orders` WHERE `id` IN (?, ?) AND `orders` . `n` = ?", false);
        assert_eq!(sql, "SELECT COUNT( * ) FROM `shop` . `orders` WHERE `id` IN(:p1, :p2) AND `orders` . `n` = :p3");
        assert_eq!(parameters, ["shop.orders.id", "shop.orders.id", "shop.orders.n"]);
    }

    #[test]
    fn what_can_not_be_run_again_says_why() {
        let left = |text: &str, is_numbered| statement(text, is_numbered).unwrap_err();
        assert_eq!(left("COMMIT", true), Left::NoRequest);
        assert_eq!(left("SELECT a FROM t WHERE a IN (...)", false), Left::Values);
        assert_eq!(left("SELECT a FROM t WHERE a = ?", true), Left::Values);
        assert_eq!(left(&format!("SELECT {}", "a, ".repeat(1000)), true), Left::Cut);
        assert_eq!(left("SELECT a FROM ...", false), Left::Cut);
        assert!(statement("WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x", true).unwrap().writes);
        assert!(statement("SELECT a FROM t FOR UPDATE", true).unwrap().writes);
        assert!(!statement("SELECT replace(a, $1, $2) FROM t", true).unwrap().writes);
    }
}
