//! Reading a profile as the system does, as far as these profiles go.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expression {
    List(Vec<Expression>),
    Symbol(String),
    Text(String),
    Regex(String),
}

impl Expression {
    pub(crate) fn list(&self) -> &[Expression] {
        match self {
            Self::List(list) => list,
            other => panic!("no list: {other:?}"),
        }
    }

    pub(crate) fn symbol(&self) -> &str {
        match self {
            Self::Symbol(name) => name,
            other => panic!("no symbol: {other:?}"),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }
}

/// All expressions of a text; panics where it is not well formed.
pub(crate) fn parse(text: &str) -> Vec<Expression> {
    let mut rest = text;
    let mut expressions = Vec::new();
    while let Some(expression) = next(&mut rest) {
        expressions.push(expression);
    }
    assert_eq!(rest, "", "a closing parenthesis too many");
    expressions
}

/// The next expression; `None` at the end, or before a closing parenthesis.
fn next(rest: &mut &str) -> Option<Expression> {
    loop {
        *rest = rest.trim_start();
        let Some(comment) = rest.strip_prefix(';') else { break };
        *rest = comment.split_once('\n').map_or("", |(_, after)| after);
    }
    if rest.is_empty() || rest.starts_with(')') {
        return None;
    }
    if let Some(inside) = rest.strip_prefix('(') {
        *rest = inside;
        let mut list = Vec::new();
        while let Some(expression) = next(rest) {
            list.push(expression);
        }
        *rest = rest.strip_prefix(')').expect("a closing parenthesis");
        return Some(Expression::List(list));
    }
    if let Some(inside) = rest.strip_prefix("#\"") {
        let (regex, after) = inside.split_once('"').expect("the end of a regular expression");
        *rest = after;
        return Some(Expression::Regex(regex.to_owned()));
    }
    if let Some(inside) = rest.strip_prefix('"') {
        let (text, after) = inside.split_once('"').expect("the end of a text");
        assert!(!text.contains('\\'), "no text needs an escape");
        *rest = after;
        return Some(Expression::Text(text.to_owned()));
    }
    let end = rest.find(|c: char| c.is_whitespace() || "()\";".contains(c)).unwrap_or(rest.len());
    let (symbol, after) = rest.split_at(end);
    *rest = after;
    Some(Expression::Symbol(symbol.to_owned()))
}

/// What `sandbox-exec` is given.
pub(crate) struct Profile {
    pub(crate) text: String,
    pub(crate) parameters: BTreeMap<String, PathBuf>,
    rules: Vec<Expression>,
}

impl Profile {
    pub(crate) fn new(arguments: &[OsString]) -> Self {
        let mut words = arguments.iter();
        assert_eq!(words.next().expect("a word"), "-p");
        let text = words.next().and_then(|text| text.to_str()).expect("a text").to_owned();
        let mut parameters = BTreeMap::new();
        loop {
            let word = words.next().expect("the end of the options");
            if word == "--" {
                break;
            }
            assert_eq!(word, "-D");
            let definition = words.next().expect("a definition").as_bytes();
            let at = definition.iter().position(|&byte| byte == b'=').expect("a value");
            let name = String::from_utf8(definition[..at].to_vec()).expect("a name");
            let path = PathBuf::from(OsString::from_vec(definition[at + 1..].to_vec()));
            assert_eq!(parameters.insert(name, path), None, "defined twice");
        }
        assert_eq!(words.next(), None);
        let rules = parse(&text);
        Self { text, parameters, rules }
    }

    pub(crate) fn rules(&self) -> &[Expression] {
        &self.rules
    }

    /// The parameters the text asks for.
    pub(crate) fn references(&self) -> Vec<String> {
        fn collect(expression: &Expression, into: &mut Vec<String>) {
            let Expression::List(list) = expression else { return };
            if list.first() == Some(&Expression::Symbol("param".to_owned())) {
                into.push(list[1].text().to_owned());
            }
            for inner in list {
                collect(inner, into);
            }
        }
        let mut expressions = Vec::new();
        for rule in &self.rules {
            collect(rule, &mut expressions);
        }
        expressions
    }

    /// Whether an operation on a path is allowed: the last rule about it holds.
    pub(crate) fn allows(&self, operation: &str, path: &Path) -> bool {
        self.decides(operation, |filter| self.matches(filter, path))
    }

    /// As [`allows`](Self::allows), for operations without a path.
    pub(crate) fn allows_where(&self, operation: &str, what: &[&str]) -> bool {
        self.decides(operation, |filter| {
            let words: Vec<String> = filter.list().iter().map(word).collect();
            words == what
        })
    }

    fn decides(&self, operation: &str, matches: impl Fn(&Expression) -> bool) -> bool {
        let mut allowed = None;
        for rule in &self.rules {
            let mut list = rule.list();
            if list[0].symbol() == "if" {
                let asked = list[1].list();
                assert_eq!(asked[0].symbol(), "defined?");
                assert!(asked[1].symbol().starts_with('\''));
                list = list[2].list();
            }
            let verdict = match list[0].symbol() {
                "allow" => true,
                "deny" => false,
                "version" => continue,
                other => panic!("unknown: {other}"),
            };
            let is_symbol = |part: &&Expression| matches!(part, Expression::Symbol(_));
            let operations = list[1..].iter().take_while(is_symbol);
            let count = operations.clone().count();
            let filters = &list[1 + count..];
            let named = operations.map(Expression::symbol).any(|pattern| {
                pattern == "default"
                    || pattern == operation
                    || pattern.strip_suffix('*').is_some_and(|start| operation.starts_with(start))
            });
            if named && (filters.is_empty() || filters.iter().any(&matches)) {
                allowed = Some(verdict);
            }
        }
        allowed.expect("a default")
    }

    fn matches(&self, filter: &Expression, path: &Path) -> bool {
        let list = filter.list();
        let argument = |at: usize| match &list[at] {
            Expression::Text(text) => PathBuf::from(text),
            Expression::List(list) if list[0].symbol() == "param" => {
                self.parameters[list[1].text()].clone()
            }
            other => panic!("no path: {other:?}"),
        };
        match list[0].symbol() {
            "literal" => path == argument(1),
            "subpath" => path.starts_with(argument(1)),
            // Terminals made in the sandbox, of which there are none here.
            "require-all" => false,
            other => panic!("unknown: {other}"),
        }
    }
}

fn word(expression: &Expression) -> String {
    match expression {
        Expression::Symbol(word) | Expression::Text(word) | Expression::Regex(word) => word.clone(),
        Expression::List(list) => list.iter().map(word).collect::<Vec<_>>().join(" "),
    }
}
