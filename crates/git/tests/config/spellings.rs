//! Ways to write one setting. Whichever is taken, git reads nothing in the result that is not harmless.

use super::by_git::{by_git, has_git};
use super::list::Places;
use super::refused::REFUSED;

/// A setting that git would obey, as section, subsection, key and value.
const DANGEROUS: [(&str, Option<&str>, &str, &str); 9] = [
    ("core", None, "hooksPath", "x"),
    ("core", None, "fsmonitor", "touch X"),
    ("alias", None, "st", "!touch X"),
    ("include", None, "path", "../x"),
    ("includeIf", Some("gitdir:/"), "path", "../x"),
    ("filter", Some("lfs"), "clean", "touch X"),
    ("remote", Some("origin"), "uploadpack", "touch X"),
    ("remote", Some("origin"), "pushurl", "ext::sh -c touch% X"),
    ("url", Some("ext::x "), "insteadOf", "https://"),
];

fn head(section: &str, subsection: Option<&str>) -> String {
    match subsection {
        Some(name) => format!("[{section} \"{name}\"]"),
        None => format!("[{section}]"),
    }
}

/// Forty texts for one setting.
fn spellings(section: &str, subsection: Option<&str>, key: &str, value: &str) -> Vec<Vec<u8>> {
    let head = head(section, subsection);
    let (upper, lower) = (key.to_uppercase(), key.to_lowercase());
    let capital = head.replacen(section, &section.to_uppercase(), 1);
    let (first, rest) = value.split_at(1);
    let (start, end) = key.split_at(2);
    let mut texts: Vec<Vec<u8>> = [
        format!("{head}\n\t{key} = {value}\n"),
        format!("{head}\n\t{upper} = {value}\n"),
        format!("{head}\n\t{lower} = {value}\n"),
        format!("{capital}\n\t{key} = {value}\n"),
        format!("{head} {key} = {value}"),
        format!("{head}{key}={value}"),
        format!("{head}\n{key}={value} ; comment"),
        format!("{head} ; comment\n{key}={value}"),
        format!("{head} # comment ]\n{key}={value}"),
        format!("{head}\n{key} = \"{value}\""),
        format!("{head}\n{key} = \"{first}\"{rest}"),
        format!("{head}\n{key} = {first}\"{rest}\""),
        format!("{head}\n{key} = \\\n{value}"),
        format!("{head}\n{key} = {first}\\\n{rest}"),
        format!("{head}\n{key} = \\\n\\\n{value}\\\n"),
        format!("{head}\n{key}\t \t=\t {value}\t "),
        format!("{head}\r\n\t{key} = {value}\r\n"),
        format!("{head}\r\n\t{key} = {first}\\\r\n{rest}\r\n"),
        format!("{head}\n\t{key} = {value}\r"),
        format!("\u{feff}{head}\n\t{key} = {value}\n"),
        format!("\u{feff}[user]\n\tname = A\n{head}\n\t{key} = {value}\n"),
        format!("[user]\n\tname = A\n{head}\n\t{key} = {value}\n[user]\n\temail = a@b"),
        format!("{head}\n[user]\n\tname = A\n{head}\n\t{key} = {value}"),
        format!("{head}\n\t{key} = {value}\n\t{key} = {value}\n"),
        format!("{head}\n\t{key} =\n\t{key} = {value}\n"),
        format!("{head}\n\t{key}\n\t{key} = {value}\n"),
        format!("{head}\n\t{key} = {value}\n\t{key} =\n"),
        format!("[user]\n\tname = \"A\\n{head}\\n{key} = {value}\"\n"),
        format!("[user]\n\tname = A\\n[core]\\n\\tfsmonitor = {value}\n{head}\n{key} = {value}"),
        format!("[branch \"m\"]\n\tdescription = \"x\\n{head}\\n{key} = {value}\"\n{head}\n{key} = {value}"),
        format!("[user]\n\tname = A\\\n{head}\n{key} = {value}"),
        format!("[user]\n\tname = A # \\\n{head}\n{key} = {value}"),
        format!("[user]\n\tname = \"A # \\\n\"\n{head}\n{key} = {value}"),
        format!("# {head}\\\n{head}\n{key} = {value}"),
        format!("{head}\n\t{start}\0{end} = {value}\n{head}\n\t{key} = {value}\n"),
        format!("{head}\n\t{key} = {value}\0\n"),
        format!("{head}\n\t{key} = \u{b}{value}\u{c}\n"),
        format!("{head}\u{b}{key} = {value}"),
        format!("\n\n \t{head}\n\n\t{key} = {value}\n\n"),
        format!("[{section} \"{}\"]\n\t{key} = {value}\n", subsection.unwrap_or("").replace('e', "\\e")),
        format!("[{section} \t \"{}\"]\n\t{key} = {value}\n", subsection.unwrap_or("")),
        format!("[{}]\n\t{key} = {value}\n", [section, subsection.unwrap_or("x")].join(".")),
    ]
    .map(String::into_bytes)
    .into();
    texts.push([head.as_bytes(), b"\n\t", key.as_bytes(), b" = \xff", value.as_bytes()].concat());
    texts
}

#[test]
fn no_spelling_of_a_dangerous_setting_is_carried() {
    if !has_git() {
        println!("skipped: there is no git");
        return;
    }
    let places = Places::new();
    let real = b"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.org/\n";
    let before = by_git(real).unwrap();
    let (mut seen, mut merged) = (0, 0);
    for (section, subsection, key, value) in DANGEROUS {
        for text in spellings(section, subsection, key, value) {
            let view = [&real[..], &text].concat();
            for view in [&view, &text] {
                let Some(after) = toolwright_git::config::Config::parse(view) else { continue };
                seen += usize::from(!after.settings().is_empty());
                let result = places.merge([real, view, real]);
                let Some(result) = result.text else { continue };
                merged += 1;
                for setting in by_git(&result).unwrap() {
                    let is_harmless = before.contains(&setting)
                        || setting.0.starts_with(b"user.")
                        || setting.0 == b"branch.m.description";
                    let shown = String::from_utf8_lossy(&setting.0);
                    assert!(is_harmless, "{shown} from {}", text.escape_ascii());
                }
            }
        }
    }
    assert!(seen > 500 && merged > 50, "{seen} {merged}");
}

#[test]
fn each_refused_setting_is_refused_beside_harmless_ones() {
    let places = Places::new();
    let origin = "[remote \"origin\"]\n\turl = https://example.org/\n";
    for text in REFUSED {
        for view in [
            format!("[user]\n\tname = A\n{origin}{text}\n"),
            format!("{origin}{text}\n[user]\n\tname = A\n"),
            format!("\u{feff}{origin}{text}\r\n[user]\r\n\tname = A\r\n"),
        ] {
            let merged = places.merge([origin, &view, origin].map(str::as_bytes));
            let result = String::from_utf8(merged.text.unwrap()).unwrap();
            assert_eq!(result, format!("{origin}[user]\n\tname = A\n"), "{text}");
            assert!(!merged.refused.is_empty(), "{text}");
        }
    }
}
