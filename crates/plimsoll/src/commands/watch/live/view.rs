//! The state of a live view: it is fed with slots, keys, messages and the size of the terminal. What it looks like is elsewhere.

use std::collections::VecDeque;

use plimsoll_measurement::foreign::is_harmful;
use ratatui::layout::Rect;

use super::super::collector::Told;
use super::super::marked;
use super::super::metrics::Unit;
use super::super::sums::Key;
use super::chart::clock;
use super::data::Data;
use super::detail;
use super::help;
use super::rows::Manner;

/// So many messages are kept, the last ones.
const MOST_MESSAGES: usize = 100;

/// A page is so many lines where the terminal's size says nothing.
const PAGE: usize = 10;

/// Lines of a page that are not its text: the title and the keys.
pub const AROUND: u16 = 2;

/// A key, as far as the view knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    Up,
    Down,
    PageUp,
    PageDown,
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C.
    Interrupt,
    Sign(char),
}

/// What a key asks for beyond the view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// The end, with the summary.
    End,
    /// The same by Ctrl-C.
    Interrupt,
    /// The present moment gets this name.
    Mark(String),
}

/// What is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// The answer, the chart and the statements.
    Statements,
    /// One of them, from this line on.
    Statement(Key, usize),
    /// The keys and the messages, from this line on.
    Help(usize),
}

/// What is watched, and how it is shown at first.
#[derive(Debug, Clone)]
pub struct Setup {
    pub target: String,
    /// The length of a slot, in words.
    pub slot: String,
    /// So many statements are listed.
    pub top: usize,
    /// Whether slots are kept in the store.
    pub keeps: bool,
    pub has_colors: bool,
}

/// All of it.
pub struct LiveView {
    pub setup: Setup,
    pub manner: Manner,
    /// Whether the chart is of waits and not of statements.
    pub is_of_waits: bool,
    pub page: Page,
    /// The name of a moment, as far as it is typed.
    pub typed: Option<String>,
    pub area: Rect,
    /// The statement that was chosen.
    pub chosen: Option<Key>,
    messages: VecDeque<String>,
    /// Whether the last message is still shown.
    has_news: bool,
    live: Data,
    /// What was there when the view was paused.
    paused: Option<Data>,
    /// Where the last slot ended, by the server's clock.
    end_us: Option<i64>,
    has_changed: bool,
}

impl LiveView {
    /// One without any slot.
    pub fn of(setup: Setup) -> Self {
        let manner = Manner { sort: None, unit: Unit::Second, top: setup.top };
        Self {
            setup,
            manner,
            is_of_waits: false,
            page: Page::Statements,
            typed: None,
            area: Rect::ZERO,
            chosen: None,
            messages: VecDeque::new(),
            has_news: false,
            live: Data::default(),
            paused: None,
            end_us: None,
            has_changed: true,
        }
    }

    /// What is shown.
    pub fn data(&self) -> &Data {
        self.paused.as_ref().unwrap_or(&self.live)
    }

    /// How many slots came since the view was paused; `None` if it is not.
    pub fn behind(&self) -> Option<u64> {
        self.paused.as_ref().map(|paused| self.live.slots.saturating_sub(paused.slots))
    }

    /// The message that is shown below the statements.
    pub fn news(&self) -> Option<&str> {
        self.messages.back().filter(|_| self.has_news).map(String::as_str)
    }

    /// Whether anything changed since the last time that somebody asked.
    pub fn take_change(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// The terminal has this size.
    pub fn resize(&mut self, area: Rect) {
        self.has_changed |= self.area != area;
        self.area = area;
    }

    /// Adds a slot.
    pub fn take(&mut self, told: &Told<'_>) {
        self.live.take(told);
        self.end_us = Some(told.slot.end_us);
        self.has_changed = true;
    }

    /// Shows a message, and keeps it for the help.
    pub fn say(&mut self, message: &str) {
        if self.messages.len() >= MOST_MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(message.to_owned());
        self.has_news = true;
        self.has_changed = true;
    }

    /// A moment was marked.
    pub fn mark(&mut self, at_us: i64, text: &str) {
        self.live.marks_us.push(at_us);
        if let Some(paused) = &mut self.paused {
            paused.marks_us.push(at_us);
        }
        self.say(&format!("'{text}' is {}", clock(at_us)));
    }

    /// Takes a key.
    pub fn press(&mut self, press: Press) -> Option<Wish> {
        self.has_changed = true;
        if press == Press::Interrupt {
            return Some(Wish::Interrupt);
        }
        if self.typed.is_some() {
            return self.type_name(press);
        }
        match (press, self.page.clone()) {
            (Press::Sign('q'), _) => return Some(Wish::End),
            (Press::Escape, Page::Statements) => self.has_news = false,
            (Press::Escape, _)
            | (Press::Enter, Page::Statement(..) | Page::Help(_))
            | (Press::Sign('?'), Page::Help(_)) => {
                self.page = Page::Statements;
            }
            (Press::Enter, Page::Statements) => {
                let first = || self.keys().first().copied();
                if let Some(key) = self.chosen.or_else(first) {
                    self.chosen = Some(key);
                    self.page = Page::Statement(key, 0);
                }
            }
            (Press::Up, _) => self.step(-1),
            (Press::Down, _) => self.step(1),
            (Press::PageUp, _) => self.step(-self.page_lines()),
            (Press::PageDown, _) => self.step(self.page_lines()),
            (Press::Sign(sign), _) => self.sign(sign),
            (Press::Backspace | Press::Interrupt, _) => {}
        }
        None
    }

    fn sign(&mut self, sign: char) {
        match sign {
            ' ' => {
                self.paused = match self.paused {
                    Some(_) => None,
                    None => Some(self.live.clone()),
                }
            }
            's' => self.manner.sort = self.manner.next_sort(self.data()),
            'u' => self.manner.unit = self.manner.unit.next(),
            'c' => self.is_of_waits = !self.is_of_waits,
            'r' => self.begin_anew(),
            'm' if self.setup.keeps => self.typed = Some(String::new()),
            'm' => self.say("Nothing is stored (--no-store), so that no moment can be marked."),
            '?' => self.page = Page::Help(0),
            _ => {}
        }
    }

    /// The sums begin anew where the last slot ended. What is stored stays.
    fn begin_anew(&mut self) {
        self.paused = None;
        self.live = self.live.anew();
        let from = self.end_us.map_or_else(|| "with the first slot".to_owned(), |us| format!("at {}", clock(us)));
        let kept = if self.setup.keeps { "; what was watched before is in the store" } else { "" };
        self.say(&format!("The sums begin anew {from}{kept}."));
    }

    /// A name for the present moment is typed.
    fn type_name(&mut self, press: Press) -> Option<Wish> {
        let typed = self.typed.get_or_insert_default();
        match press {
            Press::Sign(sign) if !is_harmful(sign) && typed.chars().count() < marked::LONGEST => typed.push(sign),
            Press::Backspace => drop(typed.pop()),
            Press::Escape => self.typed = None,
            Press::Enter => {
                let name = typed.trim().to_owned();
                self.typed = None;
                let time = self.end_us.map_or_else(|| "the beginning".to_owned(), clock);
                return Some(Wish::Mark(if name.is_empty() { format!("marked after {time}") } else { name }));
            }
            _ => {}
        }
        None
    }

    /// The statements that are listed, in their order.
    pub fn keys(&self) -> Vec<Key> {
        let data = self.data();
        data.ranked(self.manner.metric(data)).into_iter().take(self.manner.top).map(|(key, _)| key).collect()
    }

    fn page_lines(&self) -> isize {
        let lines = isize::try_from(self.area.height.saturating_sub(AROUND)).unwrap_or(0);
        if lines > 0 { lines } else { PAGE.cast_signed() }
    }

    /// Chooses another statement, or goes on within a page.
    fn step(&mut self, by: isize) {
        let width = self.area.width.into();
        let room = usize::from(self.area.height.saturating_sub(AROUND));
        let within = |from: usize, lines: usize| from.saturating_add_signed(by).min(lines.saturating_sub(room));
        self.page = match &self.page {
            Page::Statement(key, from) => {
                let lines = detail::lines(self.data(), key, width).len() + usize::from(detail_chart(self.area));
                Page::Statement(*key, within(*from, lines))
            }
            Page::Help(from) => Page::Help(within(*from, help::lines(&self.messages, width).len())),
            Page::Statements => {
                let keys = self.keys();
                let place = self.chosen.and_then(|chosen| keys.iter().position(|key| *key == chosen));
                let next = match place {
                    Some(place) => place.saturating_add_signed(by).min(keys.len().saturating_sub(1)),
                    None => 0,
                };
                self.chosen = keys.get(next).copied();
                Page::Statements
            }
        };
    }

    /// The help, and the messages so far.
    pub fn help(&self) -> Vec<String> {
        help::lines(&self.messages, self.area.width.into())
    }
}

/// Lines of the chart above the figures of a statement.
pub const fn detail_chart(area: Rect) -> u16 {
    if area.height >= 20 { area.height / 3 } else { 0 }
}
