//! How long hostile and usual command lines take: `cargo run --release -p toolwright-policy --example shell_times`.
#![expect(clippy::print_stdout, reason = "it is what this program is for")]

use std::time::{Duration, Instant};

use toolwright_policy::shell::parse;

fn longest(line: &str) -> Duration {
    let started = Instant::now();
    let _ = parse(line);
    started.elapsed()
}

fn main() {
    for line in
        ["git status -s", "cd src && git log --oneline | head -3", "sh -c 'npm test; npm run lint'"]
    {
        let started = Instant::now();
        for _ in 0..1000 {
            let _ = parse(line);
        }
        println!("{:>9.1} µs  {line}", started.elapsed().as_secs_f64() * 1e3);
    }
    let pairs = [
        ("(", ")"),
        ("((", "))"),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("`", "`"),
        ("{ ", "; }"),
        ("if ", "; then x; fi"),
        ("case x in x) ", "; esac"),
        ("${x:-", "}"),
        ("f(){ ", "; }"),
        ("! ", ""),
        ("a|", ""),
        ("a&&", ""),
        ("a;", ""),
        ("a b c;", ""),
        ("a[", "]"),
        ("eval ", ""),
        ("env ", ""),
        ("find -exec ", ";"),
        ("$(a)", ""),
        ("'a' ", ""),
        ("x=", ""),
        ("sudo a;", ""),
        ("xargs a b c d e f;", ""),
        ("[ ( ", ""),
        ("x=(a) ", ""),
        ("a >b ", ""),
    ];
    let mut all = Vec::new();
    for (open, close) in pairs {
        for count in [4, 7, 8, 12, 16, 24, 100, 1000, 32_000 / open.len().max(1)] {
            for tail in ["", "x", ";;", ")"] {
                let line = format!("{}x{tail}{}", open.repeat(count), close.repeat(count));
                all.push((
                    longest(&line),
                    format!("{open:?} × {count} {tail:?}, {} bytes", line.len()),
                ));
            }
        }
    }
    mixtures(&mut all);
    all.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    for (took, what) in all.iter().take(12) {
        println!("{:>9.1} ms  {what}", took.as_secs_f64() * 1e3);
    }
}

/// The same in every run.
fn mixtures(all: &mut Vec<(Duration, String)>) {
    let pieces = [
        "(",
        "((",
        ")",
        "$(",
        "${x:-",
        "${x[",
        "}",
        "]",
        "[",
        "{ ",
        "; }",
        "`",
        "\"",
        "'",
        "\\",
        "if ",
        "case x in ",
        "x) ",
        ";; ",
        "x=(",
        "x=",
        "f(){ ",
        "a ",
        ";",
        "|",
        "&&",
        "$((",
        "))",
        "<(",
        "<<E ",
        "\n",
        "[[ ",
        " ]]",
        "!",
        "@(",
        "*",
        "do ",
        "for x in ",
        "eval ",
        "sh -c '",
        "env ",
        "~",
        "$",
        "{a,",
        "#",
    ];
    let mut state = 88_172_645_463_325_252_u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).unwrap_or(0)
    };
    for _ in 0..30_000 {
        let length = 4 + below(60);
        let few: Vec<usize> = (0..=below(5)).map(|_| below(pieces.len())).collect();
        let line: String = (0..length).map(|_| pieces[few[below(few.len())]]).collect();
        all.push((longest(&line), format!("{line:?}")));
    }
}
