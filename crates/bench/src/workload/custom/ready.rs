//! A workload that is ready to be made of one engine: its statements with the engine's placeholders, its parameters' values.

use std::mem;
use std::sync::OnceLock;

use plimsoll_engine::{Answer, Description, Dialect, Error, ErrorKind, Requester, Result, Statement, Value};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::draw::{Cell, Literal, Source};
use super::{CustomWorkload, Text, text};
use crate::generate::mix as spread;
use crate::workload::request::{Making, RequestGenerator, Workload, amount, ask};
use plimsoll_load::keys::below;
use plimsoll_load::lane::Amount;
use plimsoll_load::mix::Mix;

/// Parameters of a statement that need no memory to be taken for each request.
const FEW: usize = 16;

/// What to do about a value that a statement can't take.
const OTHER_VALUES: &str = "let the parameter be drawn as what its place in the statement takes, or cast it there";

/// A workload, shared by all sessions.
#[derive(Debug)]
pub struct Ready {
    kinds: Vec<Kind>,
    mix: Mix<usize>,
    begin: [Statement; 2],
    commit: Statement,
    rollback: Statement,
    seed: u64,
    /// What the target said when a request failed for the first time.
    server_error: OnceLock<String>,
    /// The same of what passes, such as a deadlock: a request is tried again after it, and may fail in the end.
    passing_error: OnceLock<String>,
}

#[derive(Debug)]
struct Kind {
    name: String,
    transaction: bool,
    /// True if its transaction needs the right to write from its begin.
    needs_right: bool,
    names: Vec<String>,
    sources: Vec<Source>,
    copies: u64,
    asked: Vec<Asked>,
}

#[derive(Debug)]
struct Asked {
    /// One for each copy.
    statements: Vec<Statement>,
    /// Parameters by their positions among those of the request, in the order of the placeholders.
    parameters: Vec<usize>,
    times: u64,
    /// True if it selects, updates or deletes rows.
    seeks: bool,
}

/// What a statement for no engine of these comes to.
fn lacking(engine: &str) -> String {
    format!("a statement has no text for {engine}: add {engine} = \"...\" or any = \"...\"")
}

/// The statements of a set-up or clean-up for an engine: those with `{n}` once for each copy.
///
/// # Errors
/// A sentence if one has no text for the engine.
pub fn script(own: &CustomWorkload, statements: &[Text], of: &Description) -> std::result::Result<Vec<String>, String> {
    let mut texts = Vec::new();
    for statement in statements {
        let sql = statement.for_engine(&of.engine, of.relative).ok_or_else(|| lacking(&of.engine))?;
        let copies = if sql.contains("{n}") { own.copies } else { 1 };
        texts.extend((1..=copies).map(|copy| text::filled(sql, copy, &own.variables)));
    }
    Ok(texts)
}

impl Ready {
    /// Makes a workload ready. `sample` gives values of a column.
    ///
    /// # Errors
    /// A sentence if it can't be made of this engine.
    pub fn new(
        own: &CustomWorkload,
        of: &Description,
        dialect: &dyn Dialect,
        seed: u64,
        mut sample: impl FnMut(&str, &str) -> std::result::Result<Vec<Literal>, String>,
    ) -> std::result::Result<Self, String> {
        let mut next = 0;
        let mut statement = |sql: String, columns| {
            next += 1;
            Statement { number: next - 1, sql, columns }
        };
        let nothing = || Some(Vec::new());
        let begin = [false, true].map(|writes| statement(dialect.begin(writes).to_owned(), nothing()));
        let commit = statement("COMMIT".to_owned(), nothing());
        let rollback = statement("ROLLBACK".to_owned(), nothing());
        let mix = Mix::new(own.requests.iter().map(|request| request.weight).enumerate().collect())?;
        let mut kinds = Vec::new();
        for request in &own.requests {
            let names: Vec<&str> = request.parameters.iter().map(|(name, _)| name.as_str()).collect();
            let source = |(name, draw): &(String, _)| {
                Source::new(draw, &names, &own.variables, &mut sample)
                    .map_err(|problem| format!("parameter {name} of {}: {problem}", request.name))
            };
            let sources = request.parameters.iter().map(source).collect::<std::result::Result<_, _>>()?;
            let (mut asked, mut reads, mut writes, mut needs_right) = (Vec::new(), false, false, false);
            for one in &request.statements {
                let sql = one.text.for_engine(&of.engine, of.relative).ok_or_else(|| lacking(&of.engine))?;
                // A transaction that only takes locks by functions before it writes can do that without the right to write.
                if text::writes(sql) && !mem::replace(&mut writes, true) {
                    needs_right = reads || asked.is_empty();
                }
                reads |= !text::reads_no_table(sql);
                let (placed, order) = text::placed(sql, dialect.is_positional(), |number| dialect.placeholder(number));
                let copies = if sql.contains("{n}") { request.copies } else { 1 };
                let statements = (1..=copies).map(|copy| statement(text::filled(&placed, copy, &own.variables), None));
                let position = |name: &&str| names.iter().position(|known| known == name);
                asked.push(Asked {
                    statements: statements.collect(),
                    parameters: order.iter().filter_map(position).collect(),
                    times: one.times,
                    seeks: text::seeks(sql),
                });
            }
            kinds.push(Kind {
                name: request.name.clone(),
                transaction: request.transaction,
                needs_right,
                names: request.parameters.iter().map(|(name, _)| name.clone()).collect(),
                sources,
                copies: request.copies,
                asked,
            });
        }
        Ok(Self {
            kinds,
            mix,
            begin,
            commit,
            rollback,
            seed,
            server_error: OnceLock::new(),
            passing_error: OnceLock::new(),
        })
    }

    /// What the target said when a request failed for the first time.
    pub fn server_error(&self) -> Option<&str> {
        self.server_error.get().or_else(|| self.passing_error.get()).map(String::as_str)
    }

    /// Requests of which most should touch a row, as their statements read or change what they name: a name each.
    pub fn seeking(&self) -> impl Iterator<Item = &str> {
        self.kinds.iter().filter(|kind| kind.asked.iter().all(|asked| asked.seeks)).map(|kind| kind.name.as_str())
    }

    /// All statements, each with the name of its request, to be tried before anything is measured.
    pub fn statements(&self) -> impl Iterator<Item = (&str, &Statement)> {
        self.kinds.iter().flat_map(|kind| {
            kind.asked.iter().flat_map(|asked| &asked.statements).map(|statement| (kind.name.as_str(), statement))
        })
    }
}

impl Workload for Ready {
    fn kinds(&self) -> Vec<String> {
        self.kinds.iter().map(|kind| kind.name.clone()).collect()
    }

    fn generator(&self, number: u64, label: u64) -> Box<dyn RequestGenerator + '_> {
        let random = Xoshiro256PlusPlus::seed_from_u64(spread(self.seed ^ spread(number << 8 | label)));
        Box::new(Session { work: self, again: random.clone(), random, drawn: Vec::new(), buffer: String::new() })
    }
}

struct Session<'a> {
    work: &'a Ready,
    random: Xoshiro256PlusPlus,
    /// The state in which the request was begun: made again, it is the same request.
    again: Xoshiro256PlusPlus,
    drawn: Vec<Cell<'a>>,
    buffer: String,
}

impl RequestGenerator for Session<'_> {
    fn draw(&mut self) -> usize {
        let work = self.work;
        let kind = if work.kinds.len() > 1 { work.mix.draw(&mut self.random) } else { 0 };
        self.again = self.random.clone();
        kind
    }

    fn make<'a>(&'a mut self, kind: usize, requester: &'a mut dyn Requester) -> Making<'a, Result<Option<Amount>>> {
        Box::pin(self.request(kind, requester))
    }
}

impl<'a> Session<'a> {
    async fn request(&mut self, kind: usize, requester: &mut dyn Requester) -> Result<Option<Amount>> {
        let work = self.work;
        let kind = &work.kinds[kind];
        let outcome = self.attempt(kind, requester).await;
        if let Err(error) = &outcome
            && error.kind != ErrorKind::Cancelled
        {
            let first = if error.kind == ErrorKind::Busy { &work.passing_error } else { &work.server_error };
            first.get_or_init(|| error.message.clone());
        }
        outcome.map(Some).map_err(|error| match error.kind {
            // What the engine was not even asked.
            ErrorKind::Usage => Error::new(ErrorKind::Usage, format!("request '{}': {}", kind.name, error.message))
                .hint(error.hint.unwrap_or_else(|| OTHER_VALUES.to_owned())),
            _ => error,
        })
    }

    async fn attempt(&mut self, kind: &'a Kind, requester: &mut dyn Requester) -> Result<Amount> {
        let work = self.work;
        self.random = self.again.clone();
        self.buffer.clear();
        self.drawn.clear();
        for place in 0..kind.sources.len() {
            let cell = self.draw_one(kind, place)?;
            self.drawn.push(cell);
        }
        let copy = match kind.copies {
            1 => 0,
            copies => below(&mut self.random, copies) as usize,
        };
        if !kind.transaction {
            return self.ask_all(kind, copy, requester).await;
        }
        ask(requester, &work.begin[usize::from(kind.needs_right)], &[]).await?;
        let mut outcome = self.ask_all(kind, copy, requester).await;
        if outcome.is_ok()
            && let Err(error) = ask(requester, &work.commit, &[]).await
        {
            outcome = Err(error);
        }
        if outcome.is_err() {
            // The first error tells the reason; a transaction that can't be rolled back ends with its session.
            let _ = ask(requester, &work.rollback, &[]).await;
        }
        outcome
    }

    async fn ask_all(&mut self, kind: &'a Kind, copy: usize, requester: &mut dyn Requester) -> Result<Amount> {
        let mut made = Amount::default();
        for asked in &kind.asked {
            let statement = &asked.statements[copy.min(asked.statements.len() - 1)];
            for time in 0..asked.times {
                if time > 0 {
                    self.draw_again(kind, asked)?;
                }
                let answer = self.ask(statement, &asked.parameters, requester).await?;
                made += amount(answer, answer.rows);
            }
        }
        Ok(made)
    }

    fn draw_one(&mut self, kind: &'a Kind, place: usize) -> Result<Cell<'a>> {
        kind.sources[place].draw(&mut self.random, &mut self.buffer, &self.drawn).map_err(|problem| {
            Error::new(ErrorKind::Usage, format!("parameter '{}': {problem}", kind.names[place]))
                .hint("let it begin lower, so that there are numbers for all requests")
        })
    }

    /// New values for the parameters of a statement, and for what those are the sum of.
    fn draw_again(&mut self, kind: &'a Kind, asked: &Asked) -> Result<()> {
        let bases = asked.parameters.iter().filter_map(|place| match kind.sources[*place] {
            Source::Plus(other, _) if !asked.parameters.contains(&other) => Some(other),
            _ => None,
        });
        // Sums go last: what they are sums of is drawn by then.
        let is_sum = |place: &usize| matches!(kind.sources[*place], Source::Plus(..));
        let plain = asked.parameters.iter().copied().filter(|place| !is_sum(place));
        let sums = asked.parameters.iter().copied().filter(is_sum);
        for place in bases.chain(plain).chain(sums) {
            self.drawn[place] = self.draw_one(kind, place)?;
        }
        Ok(())
    }

    fn value(&self, place: usize) -> Value<'_> {
        match self.drawn[place] {
            Cell::Value(value) => value,
            Cell::Text(start, end) => Value::Text(&self.buffer[start..end]),
        }
    }

    async fn ask(&self, statement: &Statement, parameters: &[usize], requester: &mut dyn Requester) -> Result<Answer> {
        if let [only] = parameters {
            return ask(requester, statement, &[self.value(*only)]).await;
        }
        if parameters.len() > FEW {
            let values: Vec<Value<'_>> = parameters.iter().map(|place| self.value(*place)).collect();
            return ask(requester, statement, &values).await;
        }
        let mut values = [Value::Null; FEW];
        for (value, place) in values.iter_mut().zip(parameters) {
            *value = self.value(*place);
        }
        ask(requester, statement, &values[..parameters.len()]).await
    }
}
