//! From the syntax tree to simple commands.

use std::collections::HashSet;

use brush_parser::ast;
use brush_parser::ast::CommandPrefixOrSuffixItem as Item;
use brush_parser::ast::CompoundCommand;
use brush_parser::ast::ExtendedTestExpr;
use brush_parser::ast::IoFileRedirectKind as Kind;
use brush_parser::ast::IoFileRedirectTarget as Target;
use brush_parser::ast::IoRedirect;

use super::SimpleCommand;
use super::words::Word;
use super::wrappers;

/// What one reading of a line comes to, without looking into lines inside it.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) commands: Vec<SimpleCommand>,
    /// Lines inside it.
    pub(super) lines: Vec<String>,
    /// What cannot be told apart, and why.
    pub(super) unclear: Vec<(String, String)>,
    known: HashSet<SimpleCommand>,
}

impl Reading {
    pub(super) fn of(program: &ast::Program) -> Self {
        let mut walk =
            Walk { reading: Self::default(), depth: 0, outer: None, seen: HashSet::new() };
        for list in &program.complete_commands {
            walk.list(list);
        }
        walk.reading
    }

    /// Whether both say the same.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        self.known == other.known && self.lines == other.lines
    }

    /// False: it was known already, or there are too many.
    fn push(&mut self, command: SimpleCommand) -> bool {
        let room = self.commands.len() <= super::MOST_COMMANDS;
        let new = room && self.known.insert(command.clone());
        if new {
            self.commands.push(command);
        }
        new
    }
}

/// Why a command is restricted that is none but for that.
const SETS_VARIABLES: &str = "sets variables that later commands may use";

/// The most that is said about why a command is restricted.
const REASON: usize = 160;

struct Walk {
    reading: Reading,
    /// How deep in commands that run others.
    depth: usize,
    /// What goes for all commands of the group at hand.
    outer: Option<String>,
    /// Words of the command at hand that have been looked at, by place and number.
    seen: HashSet<(usize, usize)>,
}

impl Walk {
    fn list(&mut self, list: &ast::CompoundList) {
        for item in &list.0 {
            for (_, pipeline) in &item.0 {
                for command in &pipeline.seq {
                    self.command(command);
                }
            }
        }
    }

    fn command(&mut self, command: &ast::Command) {
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => {
                self.group(redirects.as_ref(), |walk| walk.compound(compound));
            }
            ast::Command::Function(function) => {
                let ast::FunctionBody(body, redirects) = &function.body;
                self.group(redirects.as_ref(), |walk| walk.compound(body));
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.group(redirects.as_ref(), |walk| walk.test(&test.expr));
            }
        }
    }

    /// Commands whose output goes where the group's does.
    fn group(&mut self, redirects: Option<&ast::RedirectList>, inside: impl FnOnce(&mut Self)) {
        let before = self.outer.clone();
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            let reason = self.redirect(redirect);
            self.outer = self.outer.take().or(reason);
        }
        inside(self);
        self.outer = before;
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(it) => self.arithmetic(&it.expr),
            CompoundCommand::ArithmeticForClause(it) => {
                for part in [&it.initializer, &it.condition, &it.updater].into_iter().flatten() {
                    self.arithmetic(part);
                }
                self.list(&it.body.list);
            }
            CompoundCommand::BraceGroup(it) => self.list(&it.list),
            CompoundCommand::Subshell(it) => self.list(&it.list),
            CompoundCommand::ForClause(it) => {
                let values: Vec<Word> =
                    it.values.iter().flatten().map(|value| self.word(value)).collect();
                let text = format!("for {} in {}", it.variable_name, text(&values));
                self.push(&text, None, false, Some(SETS_VARIABLES.to_owned()));
                self.list(&it.body.list);
            }
            CompoundCommand::CaseClause(it) => {
                self.word(&it.value);
                for case in &it.cases {
                    for pattern in &case.patterns {
                        self.word(pattern);
                    }
                    if let Some(list) = &case.cmd {
                        self.list(list);
                    }
                }
            }
            CompoundCommand::IfClause(it) => {
                self.list(&it.condition);
                self.list(&it.then);
                for clause in it.elses.iter().flatten() {
                    if let Some(condition) = &clause.condition {
                        self.list(condition);
                    }
                    self.list(&clause.body);
                }
            }
            CompoundCommand::WhileClause(it) | CompoundCommand::UntilClause(it) => {
                self.list(&it.0);
                self.list(&it.1.list);
            }
            CompoundCommand::Coprocess(it) => self.command(&it.body),
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner);
            }
            ExtendedTestExpr::UnaryTest(_, word) => {
                self.word(word);
            }
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.word(left);
                self.word(right);
            }
        }
    }

    /// In `a[$(b)]` an index is a word, and a word can be a substitution.
    fn arithmetic(&mut self, expression: &ast::UnexpandedArithmeticExpr) {
        self.inside(Word::parse_document(&expression.value));
    }

    fn word(&mut self, word: &ast::Word) -> Word {
        let parsed = Word::parse(&word.value);
        self.inside(parsed.clone());
        parsed
    }

    /// The commands that a word runs.
    fn inside(&mut self, word: Word) {
        if word.odd {
            let reason = "holds an expansion that cannot be told apart".to_owned();
            self.reading.unclear.push((word.source, reason));
        }
        self.reading.lines.extend(word.substitutions);
    }

    fn simple(&mut self, command: &ast::SimpleCommand) {
        let mut words = Vec::new();
        let mut assigned = Vec::new();
        let mut reason = self.outer.clone();
        let mut items: Vec<&Item> = Vec::new();
        items.extend(command.prefix.iter().flat_map(|prefix| &prefix.0));
        let before_name = items.len();
        items.extend(command.suffix.iter().flat_map(|suffix| &suffix.0));
        for (index, item) in items.into_iter().enumerate() {
            if index == before_name
                && let Some(name) = &command.word_or_name
            {
                words.push(self.word(name));
            }
            match item {
                Item::IoRedirect(redirect) => {
                    let found = self.redirect(redirect);
                    reason = reason.or(found);
                }
                Item::Word(word) => words.push(self.word(word)),
                Item::AssignmentWord(assignment, word) => {
                    let word = match &assignment.value {
                        ast::AssignmentValue::Scalar(_) => self.word(word),
                        ast::AssignmentValue::Array(values) => {
                            for (key, value) in values {
                                key.as_ref().map(|key| self.word(key));
                                self.word(value);
                            }
                            Word { source: word.value.clone(), ..Word::default() }
                        }
                    };
                    // Behind the name it is an argument, as in `export A=b`.
                    if index < before_name { assigned.push(word) } else { words.push(word) }
                }
                Item::ProcessSubstitution(_, subshell) => {
                    self.list(&subshell.list);
                    words.push(Word { source: format!("<({})", subshell.list), ..Word::default() });
                }
            }
        }
        if let Some(name) = &command.word_or_name
            && command.suffix.is_none()
            && words.is_empty()
        {
            words.push(self.word(name));
        }
        self.seen.clear();
        self.finish(&words, &assigned, true, reason);
    }

    fn finish(
        &mut self,
        words: &[Word],
        assigned: &[Word],
        is_certain: bool,
        reason: Option<String>,
    ) {
        if words.is_empty() && assigned.is_empty() {
            if let Some(reason) = reason {
                // A redirection alone makes or empties a file.
                self.push(": >", None, false, Some(reason));
            }
            return;
        }
        if words.is_empty() {
            self.push(&text(assigned), None, false, Some(SETS_VARIABLES.to_owned()));
            return;
        }
        let argv: Option<Vec<String>> = words.iter().map(|word| word.value.clone()).collect();
        let wrapped = wrappers::look(words);
        let reason = reason
            .or_else(|| match words {
                [name, ..] if name.value.is_none() => {
                    Some("has an expansion in the place of its name".to_owned())
                }
                _ => None,
            })
            .or_else(|| {
                let variable = assigned.first()?;
                Some(format!("sets the variable {} for the command", variable.source))
            })
            .or(wrapped.restricted)
            .or_else(|| {
                let word = words.iter().find(|word| word.value.is_none())?;
                Some(format!("holds an expansion, {}", word.source))
            });
        let is_exact = is_certain && assigned.is_empty();
        if !self.push(&text(words), argv, is_exact, reason.clone()) {
            return; // and what is in it is known too
        }
        self.reading.lines.extend(wrapped.lines);
        for inner in wrapped.commands {
            // The same words, reached in another way.
            if !self.seen.insert((inner.words.as_ptr().addr(), inner.words.len())) {
                continue;
            }
            if self.depth >= super::DEEPEST {
                let reason = "is nested too deeply".to_owned();
                self.reading.unclear.push((text(inner.words), reason));
                continue;
            }
            let is_exact = is_exact && inner.restricted.is_none();
            let reason = inner.restricted.or_else(|| reason.clone());
            self.depth += 1;
            self.finish(inner.words, &[], is_exact, reason);
            self.depth -= 1;
        }
    }

    /// False: it was known already.
    fn push(
        &mut self,
        text: &str,
        argv: Option<Vec<String>>,
        is_exact: bool,
        reason: Option<String>,
    ) -> bool {
        let restricted = reason.map(|reason| reason.chars().take(REASON).collect());
        self.reading.push(SimpleCommand { text: text.to_owned(), argv, is_exact, restricted })
    }

    /// `a <&-b` is `a b <&-` to bash.
    fn may_be_argument(&mut self, target: Word) -> String {
        let reason = format!("has {}, which may be an argument", target.source);
        self.reading.unclear.push((target.source, reason.clone()));
        reason
    }

    /// Why the command is restricted by it.
    fn redirect(&mut self, redirect: &IoRedirect) -> Option<String> {
        match redirect {
            IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    self.inside(Word::parse_document(&document.doc.value));
                }
                None
            }
            IoRedirect::HereString(_, word) => {
                self.word(word);
                None
            }
            IoRedirect::OutputAndError(word, _) => {
                let target = self.word(word);
                writes_to(&target)
            }
            IoRedirect::File(_, kind, target) => {
                let target = match target {
                    Target::Fd(_) => return None,
                    Target::ProcessSubstitution(_, subshell) => {
                        self.list(&subshell.list);
                        return Some("is connected to another command".to_owned());
                    }
                    Target::Filename(word) | Target::Duplicate(word) => self.word(word),
                };
                match kind {
                    Kind::Read => connects_to(&target),
                    Kind::DuplicateInput | Kind::DuplicateOutput if is_descriptor(&target) => None,
                    Kind::DuplicateInput => Some(self.may_be_argument(target)),
                    Kind::DuplicateOutput if target.source.starts_with('-') => {
                        Some(self.may_be_argument(target))
                    }
                    Kind::Write
                    | Kind::Append
                    | Kind::Clobber
                    | Kind::ReadAndWrite
                    | Kind::DuplicateOutput => writes_to(&target),
                }
            }
        }
    }
}

fn text(words: &[Word]) -> String {
    words.iter().map(Word::text).collect::<Vec<_>>().join(" ")
}

/// `2>&1`, `>&-`
fn is_descriptor(target: &Word) -> bool {
    target.value.as_deref().is_some_and(|value| {
        value == "-" || (!value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn writes_to(target: &Word) -> Option<String> {
    let nowhere = target.value.as_deref() == Some("/dev/null");
    (!nowhere).then(|| format!("redirects output to {}", target.text()))
}

/// bash takes these names for other hosts.
fn connects_to(target: &Word) -> Option<String> {
    let value = target.value.as_deref()?;
    let is_network = value.starts_with("/dev/tcp/") || value.starts_with("/dev/udp/");
    is_network.then(|| format!("opens a connection, {value}"))
}
