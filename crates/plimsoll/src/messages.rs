//! What is said while something else is on the screen: it is held back, can be looked at, and is said once the screen is free.

use std::collections::VecDeque;

/// So many sentences are held back, the last ones.
const MOST: usize = 200;

/// Sentences in their order.
#[derive(Debug, Default)]
pub struct Messages {
    /// Without colours, and as they are said.
    sentences: VecDeque<(String, String)>,
    left_out: usize,
}

impl Messages {
    /// Holds back one more.
    pub fn push(&mut self, plain: String, line: String) {
        if self.sentences.len() >= MOST {
            self.sentences.pop_front();
            self.left_out += 1;
        }
        self.sentences.push_back((plain, line));
    }

    /// Those that came after so many of all, without colours; the number is then that of all.
    pub fn since(&self, seen: &mut usize) -> Vec<String> {
        let from = seen.saturating_sub(self.left_out);
        *seen = self.left_out + self.sentences.len();
        self.sentences.iter().skip(from).map(|(plain, _)| plain.clone()).collect()
    }

    /// What is to be said at last.
    pub fn lines(&self) -> Vec<String> {
        let left_out = (self.left_out > 0).then(|| format!("({} earlier messages are left out)", self.left_out));
        left_out.into_iter().chain(self.sentences.iter().map(|(_, line)| line.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sentences_are_held_and_the_others_counted() {
        let (mut messages, mut seen) = (Messages::default(), 0);
        messages.push("warning: a".to_owned(), "colour a".to_owned());
        assert_eq!(messages.since(&mut seen), ["warning: a"]);
        assert_eq!(messages.since(&mut seen), [""; 0], "each is new once");
        assert_eq!(messages.lines(), ["colour a"]);
        for number in 0..=MOST {
            messages.push(number.to_string(), number.to_string());
        }
        assert_eq!(messages.since(&mut seen).len(), MOST);
        let lines = messages.lines();
        assert_eq!(
            (lines.len(), lines[0].as_str(), lines[1].as_str()),
            (MOST + 1, "(2 earlier messages are left out)", "1")
        );
    }
}
