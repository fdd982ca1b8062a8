//! No command line makes the shell parser panic, overflow or take long; whatever it is, it comes to
//! something that rules can be compared with; and what is denied alone is denied in every company.

#![no_main]

use std::time::Duration;
use std::time::Instant;

use libfuzzer_sys::fuzz_target;
use toolwright_policy::shell::parse;
use toolwright_policy::shell::suggest;

fuzz_target!(|data: &[u8]| {
    let line = String::from_utf8_lossy(data);
    let started = Instant::now();
    let parsed = parse(&line);
    assert!(started.elapsed() < Duration::from_secs(5), "{line:?}");
    if !line.trim().is_empty() && !line.contains('#') {
        assert!(!parsed.commands.is_empty(), "{line:?} comes to nothing");
    }
    for command in &parsed.commands {
        assert!(command.argv.is_some() || command.restricted.is_some(), "{command:?}");
    }
    for pattern in suggest(&line) {
        assert!(pattern != "*" && pattern != "**", "{line:?} suggests to allow everything");
    }
    let second = parse(&format!("{line}\nrm x"));
    assert!(
        second.unparseable.is_some()
            || parsed.unparseable.is_some()
            || second.commands.iter().any(|one| one.text.contains("rm x")),
        "{line:?} hides what follows it"
    );
});
