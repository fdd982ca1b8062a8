//! Commands that run other commands, or change what they mean.

use super::words::Word;

/// What is known about a command besides its words.
#[derive(Debug, Default)]
pub(super) struct Wrapped<'w, 's> {
    /// Why the commands that it runs are unknown.
    pub(super) restricted: Option<String>,
    /// Command lines in its arguments.
    pub(super) lines: Vec<Inside>,
    /// Commands in its arguments.
    pub(super) commands: Vec<Inner<'w, 's>>,
}

/// A text that a command reads as a shell would.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Inside {
    /// A command line, for the shell at hand.
    Here(String),
    /// For another shell, which may be bash or not.
    Elsewhere(String),
    /// Words that are expanded once more.
    Expanded(String),
}

impl Inside {
    pub(super) fn text(&self) -> &str {
        let (Self::Here(text) | Self::Elsewhere(text) | Self::Expanded(text)) = self;
        text
    }
}

/// A command that is part of another.
#[derive(Debug)]
pub(super) struct Inner<'w, 's> {
    pub(super) words: &'w [Word<'s>],
    /// `None`: it is certain that this is what is run.
    pub(super) restricted: Option<String>,
}

/// They run the rest of their words, with options of their own in front of it.
const RUNNERS: [&str; 54] = [
    "sudo",
    "doas",
    "su",
    "runuser",
    "pkexec",
    "chroot",
    "unshare",
    "nsenter",
    "setpriv",
    "ssh",
    "script",
    "parallel",
    "watch",
    "flock",
    "strace",
    "ltrace",
    "gdb",
    "busybox",
    "toybox",
    "ionice",
    "chrt",
    "taskset",
    "setarch",
    "linux32",
    "linux64",
    "systemd-run",
    "at",
    "batch",
    "xargs",
    "env",
    "nice",
    "nohup",
    "setsid",
    "timeout",
    "time",
    "stdbuf",
    "exec",
    "command",
    "builtin",
    "entr",
    "dbus-run-session",
    "bwrap",
    "choom",
    "fakeroot",
    "firejail",
    "numactl",
    "prlimit",
    "proot",
    "screen",
    "sg",
    "start-stop-daemon",
    "tmux",
    "unbuffer",
    "xvfb-run",
];
/// Their other names for a shell.
const SHELLS: [&str; 13] = [
    "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "yash",
    "posh",
];
/// They change what later commands mean: variables such as `PATH`, or names.
const CHANGERS: [&str; 15] = [
    "alias",
    "export",
    "readonly",
    "declare",
    "typeset",
    "local",
    "read",
    "mapfile",
    "readarray",
    "hash",
    "enable",
    "getopts",
    "let",
    "unset",
    "shopt",
];
/// So many places are tried where it is not known at which the inner command begins.
const MAX_INNER_COMMANDS: usize = 16;

pub(super) fn look<'w, 's>(words: &'w [Word<'s>]) -> Wrapped<'w, 's> {
    let Some((name, arguments)) = words.split_first() else { return Wrapped::default() };
    let Some(name) = name.value() else { return Wrapped::default() };
    let name = name.rsplit('/').next().unwrap_or(name);
    if SHELLS.contains(&name) {
        return shell(arguments);
    }
    match name {
        "eval" => lines_in(operands(arguments), "runs what its arguments come to"),
        "trap" => match operands(arguments) {
            [line, _, ..] if value(Some(line)) != Some("-") => {
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
            Some(inner) => Wrapped {
                commands: vec![Inner { words: inner, restricted: None }],
                ..Wrapped::default()
            },
            None if RUNNERS.contains(&name) => runner(name, arguments),
            None => Wrapped::default(),
        },
    }
}

fn because(reason: &str) -> Wrapped<'static, 'static> {
    Wrapped { restricted: Some(reason.to_owned()), ..Wrapped::default() }
}

/// Without the `--` that ends options.
fn operands<'w, 's>(arguments: &'w [Word<'s>]) -> &'w [Word<'s>] {
    match arguments {
        [first, rest @ ..] if value(Some(first)) == Some("--") => rest,
        _ => arguments,
    }
}

/// To bash, `-v 'a[$(b)]'` runs `b`.
fn has_index(arguments: &[Word<'_>]) -> bool {
    let has = |is: fn(&str) -> bool| arguments.iter().any(|word| value(Some(word)).is_some_and(is));
    has(|text| matches!(text, "-v" | "-R")) && has(|text| text.len() > 1 && text.contains('['))
}

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
        _ => CHANGERS.contains(&name),
    }
}

/// Lines in arguments that are expanded once more.
pub(super) fn evaluated(arguments: &[Word<'_>]) -> Vec<Inside> {
    let texts = arguments.iter().take(MAX_INNER_COMMANDS).filter_map(Word::value);
    texts
        .filter(|text| text.contains(['$', '`']))
        .map(|text| Inside::Expanded(text.to_owned()))
        .collect()
}

fn value<'w>(word: Option<&'w Word<'_>>) -> Option<&'w str> {
    word.and_then(Word::value)
}

/// The forms of which it is certain where the inner command begins.
fn certain<'w, 's>(name: &str, arguments: &'w [Word<'s>]) -> Option<&'w [Word<'s>]> {
    let skipped = match name {
        "nohup" | "command" | "builtin" | "exec" | "setsid" | "time" | "nice" => 0,
        "timeout" => 1,
        _ => return None,
    };
    let skipped = match (name, value(arguments.first())) {
        ("nice", Some("-n")) => 2,
        _ => skipped,
    };
    let is_duration = |word: &Word<'_>| {
        value(Some(word)).is_some_and(|text| {
            text.trim_end_matches(['s', 'm', 'h', 'd']).parse::<f64>().is_ok_and(f64::is_finite)
        })
    };
    if name == "timeout" && !arguments.first().is_some_and(is_duration) {
        return None;
    }
    let inner = arguments.get(skipped..)?;
    let first = value(inner.first())?;
    (!first.starts_with('-')).then_some(inner)
}

/// The inner command may begin at several places.
fn runner<'w, 's>(name: &str, arguments: &'w [Word<'s>]) -> Wrapped<'w, 's> {
    // `command -v git` only asks, and so does `time` alone.
    if name == "command" && matches!(value(arguments.first()), Some("-v" | "-V")) {
        return Wrapped::default();
    }
    if arguments.is_empty() && matches!(name, "env" | "time" | "exec" | "nice") {
        return Wrapped::default();
    }
    let reason = format!("lets {name} run another command");
    places(arguments, &reason)
}

fn places<'w, 's>(arguments: &'w [Word<'s>], reason: &str) -> Wrapped<'w, 's> {
    let commands = (0..arguments.len().min(MAX_INNER_COMMANDS))
        .map(|at| Inner { words: &arguments[at..], restricted: Some(reason.to_owned()) })
        .collect();
    // `su -c 'a; b'` and `ssh host 'a; b'` hand a line to a shell.
    let lines = arguments
        .iter()
        .take(MAX_INNER_COMMANDS)
        .filter_map(Word::value)
        .flat_map(|text| [Some(text), option_value(text)])
        .flatten()
        .filter(|text| text.contains([' ', ';', '|', '&', '\n', '$', '`']))
        .map(|text| Inside::Elsewhere(text.to_owned()))
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
        matches!(value(Some(word)), Some("-exec" | "-execdir" | "-ok" | "-okdir") | None)
    };
    let reason = "lets find run another command";
    let mut found = Wrapped::default();
    for (at, word) in arguments.iter().enumerate() {
        if runs(word) {
            found.restricted = Some(reason.to_owned());
            if word.is_known && found.commands.len() < MAX_INNER_COMMANDS {
                let rest = &arguments[at + 1..];
                let ends = |word: &Word<'_>| matches!(value(Some(word)), Some(";" | "+"));
                let end = rest.iter().position(ends).unwrap_or(rest.len());
                let restricted = Some(reason.to_owned());
                found.commands.push(Inner { words: &rest[..end], restricted });
            }
        }
    }
    found
}

fn lines_in<'w, 's>(arguments: &[Word<'_>], reason: &str) -> Wrapped<'w, 's> {
    let known: Option<Vec<&str>> = arguments.iter().map(|word| value(Some(word))).collect();
    match known {
        Some(words) => Wrapped { lines: vec![Inside::Here(words.join(" "))], ..Wrapped::default() },
        None => because(reason),
    }
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
    while let Some((word, behind)) = rest.split_first() {
        let Some(text) = word.value() else { return because(UNKNOWN) };
        let Some(letters) = text.strip_prefix(['-', '+']) else { break };
        match text {
            "--version" | "--help" => return Wrapped::default(),
            "--" | "-" => {
                rest = behind;
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
        rest = behind;
    }
    match rest.first() {
        Some(line) if takes_line => match line.value() {
            Some(line) => {
                Wrapped { lines: vec![Inside::Elsewhere(line.to_owned())], ..Wrapped::default() }
            }
            None => because("runs what its argument comes to"),
        },
        Some(_) => script(rest),
        None => because(UNKNOWN),
    }
}
