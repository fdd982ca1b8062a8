//! Patterns for rules that a user may want to record.

use super::{Dialect, parse_once};

/// Patterns that a user may want to record for a line: one for each of its commands, or none for
/// one that only `*` can allow.
#[must_use]
pub fn suggest(line: &str, dialect: Option<Dialect>) -> Vec<String> {
    /// Programs whose first argument says what they do.
    const WITH_SUBCOMMANDS: [&str; 15] = [
        "git", "npm", "pnpm", "yarn", "bun", "cargo", "go", "docker", "kubectl", "gh", "pip",
        "make", "uv", "deno", "dotnet",
    ];
    let parsed = parse_once(line, dialect);
    let mut patterns: Vec<String> = Vec::new();
    for command in &parsed.commands {
        let pattern = match (&command.argv, &command.restricted) {
            (Some(argv), None) => match argv.as_slice() {
                [program, sub, ..]
                    if WITH_SUBCOMMANDS.contains(&program.as_str())
                        && !sub.is_empty()
                        && sub.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
                        && !sub.starts_with('-') =>
                {
                    // With the space, so that `git status` does not allow `git status-x`; and
                    // without arguments by itself.
                    if argv.len() == 2 {
                        command.text.clone()
                    } else {
                        format!("{program} {sub} *")
                    }
                }
                _ => escaped(&command.text),
            },
            _ => return Vec::new(),
        };
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    patterns
}

/// A text that matches nothing but itself.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
