//! No command line makes the shell parser panic, overflow or take long; whatever it is, it comes to
//! something that rules can be compared with; and what is denied alone is denied in every company.

#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use toolwright_policy::shell::{CommandLine, Dialect, bash_only, parse, suggest};

/// Takes a line apart as a session does: for bash, for a plain shell, and for one that is not known.
fn taken_apart(line: &str, dialect: Option<Dialect>) -> CommandLine {
    let started = Instant::now();
    let parsed = parse(line, dialect);
    assert!(started.elapsed() < Duration::from_secs(5), "{line:?}");
    parsed
}

fuzz_target!(|data: &[u8]| {
    let line = String::from_utf8_lossy(data);
    for dialect in [None, Some(Dialect::Bash), Some(Dialect::Posix)] {
        let parsed = taken_apart(&line, dialect);
        if !line.trim().is_empty() && !line.contains('#') {
            assert!(!parsed.commands.is_empty(), "{line:?} comes to nothing");
        }
        for command in &parsed.commands {
            assert!(command.argv.is_some() || command.restricted.is_some(), "{command:?}");
        }
        for pattern in suggest(&line, dialect) {
            assert!(pattern != "*" && pattern != "**", "{line:?} suggests to allow everything");
        }
        let second = taken_apart(&format!("{line}\nrm x"), dialect);
        assert!(
            second.unparseable.is_some()
                || parsed.unparseable.is_some()
                || second.commands.iter().any(|one| one.text.contains("rm x")),
            "{line:?} hides what follows it"
        );
    }
    if let Some(syntax) = bash_only(&line) {
        assert!(!syntax.instead.is_empty(), "{line:?} is refused without a way out");
    }
});
