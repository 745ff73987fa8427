//! Texts at which a generation ends: what may be the beginning of one waits until it is known.

/// Text on its way out.
#[derive(Clone, Debug)]
pub(crate) struct StopTexts {
    texts: Vec<String>,
    waiting: String,
}

impl StopTexts {
    pub(crate) fn new(texts: &[String]) -> Self {
        Self {
            texts: texts
                .iter()
                .filter(|text| !text.is_empty())
                .cloned()
                .collect(),
            waiting: String::new(),
        }
    }

    /// What can go out with this text behind what waits, and whether a stop text was found, which does not go out.
    pub(crate) fn push(&mut self, text: &str) -> (String, bool) {
        self.waiting.push_str(text);
        let found = self
            .texts
            .iter()
            .filter_map(|stop| self.waiting.find(stop))
            .min();
        if let Some(at) = found {
            self.waiting.truncate(at);
            return (std::mem::take(&mut self.waiting), true);
        }
        let starts = self.waiting.char_indices().map(|(at, _)| at);
        let begins = |at: &usize| {
            let rest = self.waiting.get(*at..).unwrap_or_default();
            self.texts.iter().any(|stop| stop.starts_with(rest))
        };
        let keep = starts
            .into_iter()
            .find(begins)
            .unwrap_or(self.waiting.len());
        let rest = self.waiting.split_off(keep);
        (std::mem::replace(&mut self.waiting, rest), false)
    }

    /// What waits, when nothing follows.
    pub(crate) fn finish(&mut self) -> String {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_waits_while_it_may_be_the_beginning_of_a_stop() {
        let mut stops = StopTexts::new(&["END".into(), "\n\n".into(), String::new()]);
        assert_eq!(stops.push("a\n"), ("a".into(), false));
        assert_eq!(stops.push("bE"), ("\nb".into(), false));
        assert_eq!(stops.push("N"), (String::new(), false));
        assert_eq!(stops.push("E"), ("EN".into(), false));
        assert_eq!(stops.push("ND and more"), (String::new(), true));
        assert_eq!(stops.push("x\n"), ("x".into(), false));
        assert_eq!(stops.finish(), "\n");
    }

    #[test]
    fn the_first_of_several_stops_ends_the_text() {
        let mut stops = StopTexts::new(&["bc".into(), "b".into(), "ab".into()]);
        assert_eq!(stops.push("xabc"), ("x".into(), true));
    }
}
