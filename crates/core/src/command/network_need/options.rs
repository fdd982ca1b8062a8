//! Which words of a command are options, and which are values of options.

/// The name of a program without its directory.
pub(super) fn program_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Options that take the next word, as a program defines them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Valued {
    /// Letters behind one dash. Without any, such an option is a word of its own, as `-ws` of npm.
    pub(super) letters: &'static str,
    /// Names, with their dashes, divided by white space.
    pub(super) names: &'static str,
    /// Names that take no value. Where there are some, every other long option takes a word that is no option.
    pub(super) flags: &'static str,
}

/// The words of a command, taken apart.
#[derive(Debug, Default)]
pub(super) struct Operands<'a> {
    /// What is no option, and no value of one. `None`: not known before it runs.
    pub(super) words: Vec<Option<&'a str>>,
    /// Options with their values.
    pub(super) options: Vec<(&'a str, Option<&'a str>)>,
    /// A word is not known that may be an option.
    pub(super) has_unknown: bool,
}

impl<'a> Operands<'a> {
    pub(super) fn read(words: &'a [Option<String>], valued: Valued) -> Self {
        let mut read = Self::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let Some(word) = word.as_deref() else {
                read.has_unknown = true;
                read.words.push(None);
                continue;
            };
            if word == "--" {
                read.words.extend(rest.map(Option::as_deref));
                break;
            }
            if !word.starts_with('-') || word == "-" {
                read.words.push(Some(word));
                continue;
            }
            match valued.of(word) {
                Form::Attached(name, value) => read.options.push((name, Some(value))),
                Form::Flag => read.options.push((word, None)),
                Form::Next(name) => {
                    read.options.push((name, rest.next().and_then(|value| value.as_deref())));
                }
                Form::Open => {
                    let is_value = |next: &Option<String>| {
                        next.as_ref().is_none_or(|next| !next.starts_with('-'))
                    };
                    let value = rest.clone().next().filter(|next| is_value(next));
                    if value.is_some() {
                        rest.next();
                    }
                    read.options.push((word, value.and_then(|value| value.as_deref())));
                }
            }
        }
        read
    }

    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }

    /// The values of an option.
    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &'a str> {
        let of = |(name, value): &(&str, Option<&'a str>)| value.filter(|_| names.contains(name));
        self.options.iter().filter_map(of)
    }
}

enum Form<'a> {
    Flag,
    /// `--name=value`, `-nvalue`
    Attached(&'a str, &'a str),
    /// The next word is its value.
    Next(&'a str),
    /// The next word is its value unless it is an option.
    Open,
}

impl Valued {
    fn of<'a>(&self, word: &'a str) -> Form<'a> {
        if let Some((name, value)) = word.split_once('=') {
            return Form::Attached(name, value);
        }
        let lists = |list: &str| list.split_whitespace().any(|name| name == word);
        if lists(self.names) {
            return Form::Next(word);
        }
        if word.starts_with("--") {
            let is_open =
                !self.flags.is_empty() && !lists(self.flags) && !word.starts_with("--no-");
            return if is_open { Form::Open } else { Form::Flag };
        }
        match word[1..].find(|letter| self.letters.contains(letter)) {
            None => Form::Flag,
            Some(at) => {
                let end = at + 1 + word[at + 1..].chars().next().map_or(0, char::len_utf8);
                match &word[end..] {
                    "" => Form::Next(word),
                    value => Form::Attached(&word[..end], value),
                }
            }
        }
    }
}

pub(super) const NONE: Valued = Valued { letters: "", names: "", flags: "" };
