//! The outputs of a cell, as far as they are text.

use serde_json::Value;

use crate::cells::text_of;

/// How much of the outputs of one cell is shown.
const MAX_LINES: usize = 40;
const MAX_BYTES: usize = 4_000;

/// The texts of outputs, and what stands for media. Nothing, if there are none.
pub(crate) fn shown(outputs: &[Value]) -> Option<String> {
    let mut all = String::new();
    for output in outputs {
        let text = text_of_output(output);
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        all.push_str(&text);
    }
    (!all.is_empty()).then(|| shortened(&without_escapes(&all)))
}

fn text_of_output(output: &Value) -> String {
    match output["output_type"].as_str() {
        Some("stream") => text_of(&output["text"]).unwrap_or_default(),
        Some("error") => {
            let trace = output["traceback"].as_array().map(Vec::as_slice).unwrap_or_default();
            let lines: Vec<&str> = trace.iter().filter_map(Value::as_str).collect();
            if lines.is_empty() {
                let [name, value] =
                    ["ename", "evalue"].map(|key| output[key].as_str().unwrap_or_default());
                return format!("{name}: {value}");
            }
            lines.join("\n")
        }
        _ => data_of(&output["data"]),
    }
}

/// The plain text of a result, and the kinds that are left out.
fn data_of(data: &Value) -> String {
    let Some(kinds) = data.as_object() else { return String::new() };
    let mut text = kinds.get("text/plain").and_then(text_of).unwrap_or_default();
    for (kind, value) in kinds.iter().filter(|(kind, _)| *kind != "text/plain") {
        let bytes = text_of(value).map_or_else(|| value.to_string().len(), |text| text.len());
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push('(');
        text.push_str(kind);
        text.push_str(&format_args!(", {bytes} bytes, left out)").to_string());
    }
    text
}

/// Without the sequences that color a terminal.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        if next == '\u{1b}' {
            if rest.next_if_eq(&'[').is_some() {
                while rest.next().is_some_and(|it| !('@'..='~').contains(&it)) {}
            }
        } else if next == '\n' || next == '\t' || !next.is_control() {
            plain.push(next);
        }
    }
    plain
}

fn shortened(text: &str) -> String {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut end = text.len();
    if let Some((at, _)) = text.match_indices('\n').nth(MAX_LINES - 1) {
        end = at;
    }
    end = end.min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end == text.len() {
        return text.to_owned();
    }
    let left = text.len() - end;
    format!("{}\n({left} bytes more, left out)", &text[..end])
}
