//! From what a line is made of to simple commands.

use std::collections::HashSet;
use std::rc::Rc;

use super::limits::{MAX_COMMANDS, MAX_LINE_DEPTH, MAX_OUTPUT};
use super::syntax::{Command, Kind, Redirect, Script};
use super::words::Word;
use super::wrappers::NestedLine;
use super::{Redirection, SimpleCommand, wrappers};

/// What is found in a line and in all that is in it.
#[derive(Debug, Default)]
pub(super) struct Collected {
    known: HashSet<Rc<SimpleCommand>>,
    order: Vec<Rc<SimpleCommand>>,
    bytes: usize,
    /// There was more than the limits allow.
    pub(super) is_full: bool,
}

impl Collected {
    /// False: it was known already, or there are too many.
    pub(super) fn push(&mut self, command: SimpleCommand) -> bool {
        let words = command.argv.iter().flatten().map(|word| word.len() + WORD_COST).sum::<usize>();
        if !self.has_room(command.text.len() + words + COMMAND_COST)
            || self.known.contains(&command)
        {
            return false;
        }
        let command = Rc::new(command);
        self.known.insert(Rc::clone(&command));
        self.order.push(command);
        true
    }

    /// Takes `bytes` more where there is room for them.
    fn has_room(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.is_full |= self.bytes > MAX_OUTPUT || self.order.len() >= MAX_COMMANDS;
        !self.is_full
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn into_commands(self) -> Vec<SimpleCommand> {
        drop(self.known);
        self.order.into_iter().map(Rc::unwrap_or_clone).collect()
    }
}

/// What a command, a word and a redirection cost besides their bytes.
const COMMAND_COST: usize = 64;
const WORD_COST: usize = 16;

/// Why a command that is otherwise simple is restricted.
const SETS_VARIABLES: &str = "sets variables that later commands may use";

/// The longest reason for a restriction.
const MAX_REASON: usize = 160;

/// Collects the commands of one reading of a line, and returns what else there is in it.
pub(super) fn collect(script: &Script<'_>, commands: &mut Collected) -> Nested {
    let mut walk = Walk { script, commands, nested: Nested::default(), seen: HashSet::new() };
    for command in &script.commands {
        if walk.commands.is_full {
            break;
        }
        walk.command(command);
    }
    walk.nested
}

/// What one reading has in it that is read on its own.
#[derive(Debug, Default)]
pub(super) struct Nested {
    /// Lines in the words of commands.
    pub(super) lines: Vec<NestedLine>,
    /// Texts whose meaning is not clear, and why.
    pub(super) unclear: Vec<(String, String)>,
}

struct Walk<'a, 's> {
    script: &'a Script<'s>,
    commands: &'a mut Collected,
    nested: Nested,
    /// Words of the command at hand that have been looked at, by place and number.
    seen: HashSet<(usize, usize)>,
}

/// What goes for a command and for all that its words run.
#[derive(Debug, Clone)]
struct Around {
    reason: Option<String>,
    redirects: Vec<Redirection>,
    is_exact: bool,
    depth: usize,
}

impl<'s> Walk<'_, 's> {
    fn command(&mut self, command: &Command<'s>) {
        let Some((redirects, reason)) = self.redirects(command) else { return };
        let around = Around { reason, redirects, is_exact: true, depth: 0 };
        let words = &command.words;
        match &command.kind {
            Kind::Simple => {
                self.seen.clear();
                self.finish(words, &command.assigned, around);
            }
            Kind::Loop(name) => {
                let text = format!("for {} in {}", name.source, joined(words));
                self.push(text, None, around.because(SETS_VARIABLES));
            }
            // Numbers in it can be computed from words, and an index of one can be a substitution.
            Kind::Test => {
                let argv = argv(words);
                let around = if words[1..].iter().any(|word| word.source.contains('[')) {
                    around.because("computes an index")
                } else if argv.is_none() {
                    around.because("holds an expansion")
                } else {
                    around
                };
                self.nested.lines.extend(wrappers::evaluated(words));
                self.push(joined(words), argv, around);
            }
            Kind::Arithmetic => {
                self.push(joined(words), None, around.because(SETS_VARIABLES));
            }
        }
    }

    /// The redirections of a command and of all around it, and why the command is restricted by them.
    fn redirects(&mut self, command: &Command<'_>) -> Option<(Vec<Redirection>, Option<String>)> {
        let mut groups = Vec::new();
        let mut group = command.group;
        while group != 0 {
            groups.push(group);
            group = self.script.groups[group].parent;
        }
        let outer = groups.iter().rev().flat_map(|group| &self.script.groups[*group].redirects);
        let (mut redirections, mut reason) = (Vec::new(), None);
        for redirect in outer.chain(&command.redirects) {
            let target = &redirect.target;
            if !self.commands.has_room(target.source.len() + WORD_COST) {
                return None;
            }
            reason = reason.or(self.redirect(redirect));
            let is_file = match redirect.operator {
                "<<" | "<<-" | "<<<" => false,
                "<&" | ">&" => !is_descriptor(target),
                _ => true,
            };
            if is_file {
                let path = target.value().map(str::to_owned);
                redirections.push(Redirection { operator: redirect.operator, path });
            }
        }
        Some((redirections, reason))
    }

    fn finish(&mut self, words: &[Word<'s>], assigned: &[Word<'s>], around: Around) {
        if words.is_empty() {
            if !assigned.is_empty() {
                let around = Around { reason: None, ..around }.because(SETS_VARIABLES);
                self.push(joined(assigned), None, around);
            } else if around.reason.is_some() {
                // A redirection alone makes or empties a file.
                self.push(": >".to_owned(), None, Around { is_exact: false, ..around });
            }
            return;
        }
        let bytes: usize = words.iter().map(|word| word.source.len()).sum();
        if !self.commands.has_room(bytes) {
            return;
        }
        let wrapped = wrappers::look(words);
        let reason = around
            .reason
            .or_else(|| {
                let has_name = words[0].is_known;
                (!has_name).then(|| "has an expansion in the place of its name".to_owned())
            })
            .or_else(|| {
                let variable = assigned.first()?;
                Some(format!("sets the variable {} for the command", shortened(variable.source)))
            })
            .or_else(|| wrapped.restricted.clone())
            .or_else(|| {
                let word = words.iter().find(|word| !word.is_known)?;
                Some(format!("holds an expansion, {}", shortened(word.source)))
            });
        let is_exact = around.is_exact && assigned.is_empty();
        let around = Around { reason, is_exact, ..around };
        if !self.push(joined(words), argv(words), around.clone()) {
            return; // and what is in it is known too
        }
        self.nested.lines.extend(wrapped.lines);
        for inner in wrapped.commands {
            // The same words, reached in another way.
            if !self.seen.insert((inner.as_ptr().addr(), inner.len())) {
                continue;
            }
            if around.depth >= MAX_LINE_DEPTH {
                let reason = "is nested too deeply".to_owned();
                self.nested.unclear.push((joined(inner), reason));
                continue;
            }
            let is_exact = is_exact && wrapped.restricted.is_none();
            let reason = wrapped.restricted.clone().or_else(|| around.reason.clone());
            let depth = around.depth + 1;
            self.finish(inner, &[], Around { reason, is_exact, depth, ..around.clone() });
        }
    }

    /// False: it was known already, or there is no room for it.
    fn push(&mut self, text: String, argv: Option<Vec<String>>, around: Around) -> bool {
        let restricted = around.reason.map(|reason| reason.chars().take(MAX_REASON).collect());
        let Around { redirects, is_exact, .. } = around;
        self.commands.push(SimpleCommand { text, argv, redirects, is_exact, restricted })
    }

    /// `a <&-b` is `a b <&-` to bash.
    fn may_be_argument(&mut self, target: &Word<'_>) -> String {
        let reason = format!("has {}, which may be an argument", shortened(target.source));
        self.nested.unclear.push((target.source.to_owned(), reason.clone()));
        reason
    }

    /// Why the command is restricted by it.
    fn redirect(&mut self, redirect: &Redirect<'_>) -> Option<String> {
        let target = &redirect.target;
        if target.is_process {
            return Some("is connected to another command".to_owned());
        }
        match redirect.operator {
            "<<" | "<<-" | "<<<" => None,
            "<" => connects_to(target),
            "<&" | ">&" if is_descriptor(target) => None,
            "<&" => Some(self.may_be_argument(target)),
            ">&" if target.source.starts_with('-') => Some(self.may_be_argument(target)),
            _ => writes_to(target),
        }
    }
}

impl Around {
    /// With this reason, unless there is one.
    fn because(self, reason: &str) -> Self {
        Self { reason: self.reason.or_else(|| Some(reason.to_owned())), is_exact: false, ..self }
    }
}

fn argv(words: &[Word<'_>]) -> Option<Vec<String>> {
    words.iter().map(|word| word.value().map(str::to_owned)).collect()
}

fn joined(words: &[Word<'_>]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&word.text());
    }
    text
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_REASON).collect()
}

/// `2>&1`, `>&-`
fn is_descriptor(target: &Word<'_>) -> bool {
    target.value().is_some_and(|value| {
        value == "-" || (!value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn writes_to(target: &Word<'_>) -> Option<String> {
    let nowhere = target.value() == Some("/dev/null");
    (!nowhere).then(|| format!("redirects output to {}", shortened(&target.text())))
}

/// bash takes these names for other hosts.
fn connects_to(target: &Word<'_>) -> Option<String> {
    let value = target.value()?;
    let is_network = value.starts_with("/dev/tcp/") || value.starts_with("/dev/udp/");
    is_network.then(|| format!("opens a connection, {}", shortened(value)))
}
