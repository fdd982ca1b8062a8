//! The glob that somebody meant who gave a regular expression.

/// A glob like the pattern. `None` for a pattern that is no regular expression, by the signs that no glob has.
pub(crate) fn glob_like(pattern: &str) -> Option<String> {
    let is_one = pattern.starts_with('^')
        || pattern.ends_with('$')
        || pattern.starts_with("(?i)")
        || [".*", ".+", "\\.", "\\/", "\\w", "\\d", "\\S", "]+", "]*", "(?:"]
            .iter()
            .any(|sign| pattern.contains(sign))
        || pattern.contains('(') && pattern.contains('|');
    is_one.then(|| converted(pattern)).filter(|glob| glob != pattern)
}

fn converted(pattern: &str) -> String {
    let pattern = pattern.strip_prefix("(?i)").unwrap_or(pattern);
    let (begins, pattern) = pattern.strip_prefix('^').map_or((false, pattern), |rest| (true, rest));
    let (ends, pattern) = pattern.strip_suffix('$').map_or((false, pattern), |rest| (true, rest));
    let has_directories = pattern.contains('/');
    let mut glob = String::new();
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let any = [
            ".*?", ".+?", ".*", ".+", "\\w+", "\\w*", "\\d+", "\\d*", "\\S+", "\\S*", "[^/]+",
            "[^/]*",
        ];
        if let Some(sign) = any.iter().find(|sign| rest.starts_with(**sign)) {
            rest = &rest[sign.len()..];
            let deep = has_directories && sign.starts_with('.');
            add_any(&mut glob, deep && rest.contains('/'), deep);
            continue;
        }
        if let Some(length) = class_with_count(rest) {
            rest = &rest[length..];
            add_any(&mut glob, false, false);
            continue;
        }
        if let Some(after) = rest.strip_prefix("(?:") {
            glob.push('{');
            rest = after;
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match character {
            '(' => glob.push('{'),
            ')' => glob.push('}'),
            '|' => glob.push(','),
            '?' => make_optional(&mut glob),
            '.' => glob.push('?'),
            '+' | '^' | '$' => {}
            '\\' => {
                let Some(next) = rest.chars().next() else { break };
                rest = &rest[next.len_utf8()..];
                glob.push(if matches!(next, 'w' | 'd' | 'S') { '?' } else { next });
            }
            other => glob.push(other),
        }
    }
    if !begins && !glob.starts_with('*') {
        glob.insert_str(0, if has_directories { "**/" } else { "*" });
    }
    if !ends && !glob.ends_with('*') {
        glob.push('*');
    }
    // A pattern without alternatives outside of a group.
    if glob.contains(',') && !glob.contains('{') { format!("{{{glob}}}") } else { glob }
}

/// Any text. Over directories, it is a path.
fn add_any(glob: &mut String, is_inside: bool, deep: bool) {
    let at_start_of_name = glob.is_empty() || glob.ends_with('/');
    match (deep && at_start_of_name, is_inside) {
        (true, true) => glob.push_str("**"),
        (true, false) => glob.push_str("**/*"),
        _ if !glob.ends_with('*') => glob.push('*'),
        _ => {}
    }
}

/// How long a class with a count is, if the text begins with one.
fn class_with_count(text: &str) -> Option<usize> {
    let end = text.strip_prefix('[').and_then(|rest| rest.find(']'))? + 2;
    text[end..].starts_with(['+', '*']).then_some(end + 1)
}

/// `tsx?` is `ts` or `tsx`.
fn make_optional(glob: &mut String) {
    let word = glob.bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
    if word < 2 {
        glob.push('*');
        return;
    }
    let word = glob.split_off(glob.len() - word);
    for part in ["{", &word[..word.len() - 1], ",", &word, "}"] {
        glob.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_expressions_are_seen_and_made_globs() {
        for (pattern, expected) in [
            (".*\\.ts$", "*.ts"),
            ("\\.ts$", "*.ts"),
            ("\\.tsx?$", "*.{ts,tsx}"),
            ("^src/.*\\.ts$", "src/**/*.ts"),
            ("src/.*\\.ts", "**/src/**/*.ts*"),
            (".*/page\\.tsx$", "**/page.tsx"),
            ("(foo|bar)\\.js$", "*{foo,bar}.js"),
            ("(?:foo|bar)\\.js$", "*{foo,bar}.js"),
            ("^test_[a-z]+\\.py$", "test_*.py"),
            ("^README$", "README"),
            (".+Controller", "*Controller*"),
            ("\\w+\\.go$", "*.go"),
        ] {
            assert_eq!(glob_like(pattern).as_deref(), Some(expected), "{pattern}");
        }
        for pattern in
            ["*.ts", "src/**/*.{ts,tsx}", "[slug]", "app/(group)/page.tsx", "{x}", "a.b", "page"]
        {
            assert_eq!(glob_like(pattern), None, "{pattern}");
        }
    }
}
