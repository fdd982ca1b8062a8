//! Commands that run other commands, or change what they mean.

use super::words::Word;

/// What is known about a command besides its words.
#[derive(Debug, Default)]
pub(super) struct Wrapped<'w, 's> {
    /// Why it is not certain what it runs.
    pub(super) restricted: Option<String>,
    /// Command lines in its arguments.
    pub(super) lines: Vec<NestedLine>,
    /// Commands in its arguments.
    pub(super) commands: Vec<&'w [Word<'s>]>,
}

/// A text that a command reads as a shell would.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum NestedLine {
    /// A command line, for the shell at hand.
    SameShell(String),
    /// For another shell, which may be bash or not.
    OtherShell(String),
    /// Words that are expanded once more.
    Expanded(String),
}

impl NestedLine {
    pub(super) fn text(&self) -> &str {
        let (Self::SameShell(text) | Self::OtherShell(text) | Self::Expanded(text)) = self;
        text
    }
}

/// How many words are tried where the inner command can begin at any of them.
const MAX_INNER_COMMANDS: usize = 16;

pub(super) fn look<'w, 's>(words: &'w [Word<'s>]) -> Wrapped<'w, 's> {
    let Some((name, arguments)) = words.split_first() else { return Wrapped::default() };
    let Some(name) = name.value() else { return Wrapped::default() };
    let name = name_of(name);
    match name {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "rbash" | "fish" | "csh"
        | "tcsh" | "yash" | "posh" => shell(arguments),
        "eval" => lines_in(operands(arguments), "runs what its arguments come to"),
        "trap" => match operands(arguments) {
            [line, _, ..] if line.value() != Some("-") => {
                lines_in(std::slice::from_ref(line), "runs what its first argument comes to")
            }
            _ => Wrapped::default(),
        },
        "." | "source" => script(operands(arguments)),
        "find" => find(arguments),
        "compgen" | "complete" | "bind" | "fc" | "history" => {
            Wrapped { lines: evaluated(arguments), ..places(arguments, "may run another command") }
        }
        "jobs" if value(arguments.first()) == Some("-x") => {
            places(&arguments[1..], "lets jobs run another command")
        }
        "test" | "[" if has_index(arguments) => {
            Wrapped { lines: evaluated(arguments), ..because("computes an index") }
        }
        _ if changes(name, arguments) => {
            Wrapped { lines: evaluated(arguments), ..because("changes what later commands mean") }
        }
        _ => match certain(name, arguments) {
            Some(inner) => Wrapped { commands: vec![inner], ..Wrapped::default() },
            None => runner(name, arguments),
        },
    }
}

/// The name of a program without its directory.
pub(super) fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn because(reason: &str) -> Wrapped<'static, 'static> {
    Wrapped { restricted: Some(reason.to_owned()), ..Wrapped::default() }
}

/// Without the `--` that ends options.
fn operands<'w, 's>(arguments: &'w [Word<'s>]) -> &'w [Word<'s>] {
    match arguments {
        [first, rest @ ..] if first.value() == Some("--") => rest,
        _ => arguments,
    }
}

/// To bash, `-v 'a[$(b)]'` runs `b`.
fn has_index(arguments: &[Word<'_>]) -> bool {
    let has = |is: fn(&str) -> bool| arguments.iter().filter_map(Word::value).any(is);
    has(|text| matches!(text, "-v" | "-R")) && has(|text| text.len() > 1 && text.contains('['))
}

/// Builtins that change what later commands mean: variables such as `PATH`, or names.
fn changes(name: &str, arguments: &[Word<'_>]) -> bool {
    let mut options = arguments.iter().filter_map(Word::value);
    match name {
        "printf" => options.next().is_some_and(|text| text.starts_with("-v")),
        "wait" => options.any(|text| text.starts_with("-p")),
        // With these, words are taken for assignments or from lines before, or lines are read otherwise.
        "set" => options.any(|text| {
            let is_short = text.starts_with(['-', '+']);
            matches!(text, "keyword" | "posix")
                || text.starts_with("hist")
                || is_short && text.contains(['k', 'H'])
        }),
        "alias" | "export" | "readonly" | "declare" | "typeset" | "local" | "read" | "mapfile"
        | "readarray" | "hash" | "enable" | "getopts" | "let" | "unset" | "shopt" => true,
        _ => false,
    }
}

/// Lines in arguments that are expanded once more.
pub(super) fn evaluated(arguments: &[Word<'_>]) -> Vec<NestedLine> {
    let texts = arguments.iter().take(MAX_INNER_COMMANDS).filter_map(Word::value);
    texts
        .filter(|text| text.contains(['$', '`']))
        .map(|text| NestedLine::Expanded(text.to_owned()))
        .collect()
}

fn value<'w>(word: Option<&'w Word<'_>>) -> Option<&'w str> {
    word.and_then(Word::value)
}

/// The forms of which it is certain where the inner command begins.
pub(super) fn certain<'w, 's>(name: &str, arguments: &'w [Word<'s>]) -> Option<&'w [Word<'s>]> {
    let is_duration = |text: &str| {
        text.trim_end_matches(['s', 'm', 'h', 'd']).parse::<f64>().is_ok_and(f64::is_finite)
    };
    let skipped = match (name, value(arguments.first())) {
        ("nice", Some("-n")) => 2,
        ("timeout", Some(text)) if is_duration(text) => 1,
        ("nohup" | "command" | "builtin" | "exec" | "setsid" | "time" | "nice", _) => 0,
        _ => return None,
    };
    let inner = arguments.get(skipped..)?;
    let first = value(inner.first())?;
    (!first.starts_with('-')).then_some(inner)
}

/// Programs that run the rest of their words, after options of their own: the inner command may begin
/// at several places.
fn runner<'w, 's>(name: &str, arguments: &'w [Word<'s>]) -> Wrapped<'w, 's> {
    match name {
        // `command -v git` only asks, and so does `time` alone.
        "command" if matches!(value(arguments.first()), Some("-v" | "-V")) => Wrapped::default(),
        "env" | "time" | "exec" | "nice" if arguments.is_empty() => Wrapped::default(),
        "sudo" | "doas" | "su" | "runuser" | "pkexec" | "chroot" | "unshare" | "nsenter"
        | "setpriv" | "ssh" | "script" | "parallel" | "watch" | "flock" | "strace" | "ltrace"
        | "gdb" | "busybox" | "toybox" | "ionice" | "chrt" | "taskset" | "setarch" | "linux32"
        | "linux64" | "systemd-run" | "at" | "batch" | "xargs" | "env" | "nice" | "nohup"
        | "setsid" | "timeout" | "time" | "stdbuf" | "exec" | "command" | "builtin" | "entr"
        | "dbus-run-session" | "bwrap" | "choom" | "fakeroot" | "firejail" | "numactl"
        | "prlimit" | "proot" | "screen" | "sg" | "start-stop-daemon" | "tmux" | "unbuffer"
        | "xvfb-run" => places(arguments, &format!("lets {name} run another command")),
        _ => Wrapped::default(),
    }
}

fn places<'w, 's>(arguments: &'w [Word<'s>], reason: &str) -> Wrapped<'w, 's> {
    let starts = 0..arguments.len().min(MAX_INNER_COMMANDS);
    let commands = starts.map(|start| &arguments[start..]).collect();
    // `su -c 'a; b'` and `ssh host 'a; b'` hand a line to a shell.
    let lines = arguments
        .iter()
        .take(MAX_INNER_COMMANDS)
        .filter_map(Word::value)
        .flat_map(|text| [Some(text), option_value(text)])
        .flatten()
        .filter(|text| text.contains([' ', ';', '|', '&', '\n', '$', '`']))
        .map(|text| NestedLine::OtherShell(text.to_owned()))
        .collect();
    Wrapped { restricted: Some(reason.to_owned()), lines, commands }
}

/// `b` of `-Sb` and of `--split-string=b`.
fn option_value(text: &str) -> Option<&str> {
    match text.strip_prefix("--") {
        Some(long) => long.split_once('=').map(|(_, value)| value),
        None => text.strip_prefix('-').and_then(|short| short.get(1..)),
    }
}

fn find<'w, 's>(arguments: &'w [Word<'s>]) -> Wrapped<'w, 's> {
    let runs = |word: &Word<'_>| {
        matches!(word.value(), Some("-exec" | "-execdir" | "-ok" | "-okdir") | None)
    };
    let ends = |word: &Word<'_>| matches!(word.value(), Some(";" | "+"));
    let mut wrapped = Wrapped::default();
    for (at, word) in arguments.iter().enumerate().filter(|(_, word)| runs(word)) {
        wrapped.restricted = Some("lets find run another command".to_owned());
        if word.is_known && wrapped.commands.len() < MAX_INNER_COMMANDS {
            let rest = &arguments[at + 1..];
            let end = rest.iter().position(ends).unwrap_or(rest.len());
            wrapped.commands.push(&rest[..end]);
        }
    }
    wrapped
}

fn lines_in<'w, 's>(arguments: &[Word<'_>], reason: &str) -> Wrapped<'w, 's> {
    let known: Option<Vec<&str>> = arguments.iter().map(Word::value).collect();
    known.map_or_else(
        || because(reason),
        |words| Wrapped {
            lines: vec![NestedLine::SameShell(words.join(" "))],
            ..Wrapped::default()
        },
    )
}

/// A file of commands is a program like any other, but not what comes in from elsewhere.
fn script(arguments: &[Word<'_>]) -> Wrapped<'static, 'static> {
    match value(arguments.first()) {
        Some(file) if !may_be_input(file) => Wrapped::default(),
        _ => because("runs commands that are not known"),
    }
}

/// `/dev/stdin` and the like, however they are written: which directory is the current one is not
/// known.
fn may_be_input(file: &str) -> bool {
    let mut parts = file.split('/').filter(|part| !matches!(*part, "" | "."));
    let is_device = |part: &str| matches!(part, "dev" | "proc");
    let last = parts.clone().next_back().unwrap_or_default();
    last == "stdin"
        || last.bytes().all(|byte| byte.is_ascii_digit())
        || file.starts_with('/') && parts.clone().next().is_some_and(is_device)
        || parts.clone().any(|part| part == "..") && parts.any(is_device)
}

/// `sh -c LINE`, `sh FILE`, or `sh` with its commands from elsewhere.
fn shell<'w, 's>(arguments: &'w [Word<'s>]) -> Wrapped<'w, 's> {
    const UNKNOWN: &str = "runs commands that come in from elsewhere";
    let mut takes_line = false;
    let mut rest = arguments;
    while let Some((word, rest_after)) = rest.split_first() {
        let Some(text) = word.value() else { return because(UNKNOWN) };
        let Some(letters) = text.strip_prefix(['-', '+']) else { break };
        match text {
            "--version" | "--help" => return Wrapped::default(),
            "--" | "-" => {
                rest = rest_after;
                break;
            }
            _ if letters.starts_with('-')
                && !matches!(text, "--norc" | "--noprofile" | "--posix" | "--login") =>
            {
                return places(rest, "has options that take commands from elsewhere");
            }
            // With `o` and `O` the next word belongs to it; with `s` and `i` commands are read.
            _ if !letters.starts_with('-') && letters.contains(['o', 'O', 's', 'i', 'D']) => {
                return places(rest, UNKNOWN);
            }
            _ => takes_line |= !letters.starts_with('-') && letters.contains('c'),
        }
        rest = rest_after;
    }
    match rest.first() {
        Some(line) if takes_line => match line.value() {
            Some(line) => Wrapped {
                lines: vec![NestedLine::OtherShell(line.to_owned())],
                ..Wrapped::default()
            },
            None => because("runs what its argument comes to"),
        },
        Some(_) => script(rest),
        None => because(UNKNOWN),
    }
}
