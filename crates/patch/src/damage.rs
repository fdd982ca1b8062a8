//! Patches that were damaged on their way: written as entities of HTML, or with context lines that have lost the
//! space before them. A repaired patch still has to fit the file, line by line.

use crate::error::PatchError;
use crate::excerpt::excerpt;
use crate::headers::{PatchText, begins_file, is_envelope, is_fence, is_hunk_header};
use crate::hunk::Patch;

/// What happened to a patch before it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// `<`, `>` and `&` were written as entities.
    Entities,
    /// Context lines have lost the space at their beginnings.
    LostSpaces,
    /// Both of these.
    Both,
}

impl Damage {
    /// Whether a hunk can be placed despite its counts. Not where lines have lost their signs: context that begins
    /// with `+` would pass for an added line.
    pub(crate) fn allows_wrong_counts(self) -> bool {
        self == Self::Entities
    }

    /// A sentence for a model.
    pub(crate) fn note(self) -> &'static str {
        match self {
            Self::Entities => {
                "The patch has entities such as `&lt;` where the file has the characters, and was read with the characters."
            }
            Self::LostSpaces => {
                "Some context lines of the patch do not begin with a space, and were read as context."
            }
            Self::Both => {
                "The patch has entities such as `&lt;` where the file has the characters, and some of its context lines do not begin with a space; it was read with both."
            }
        }
    }
}

/// Whether a patch that is not damaged may fit where this is the reason why it does not.
pub(crate) fn may_cause(error: &PatchError) -> bool {
    matches!(error, PatchError::StaleContext(_) | PatchError::UnsignedLine { .. })
}

/// The texts that a patch may have been before it was damaged, without the text itself.
pub(crate) fn repaired(text: &str) -> Vec<(Damage, String)> {
    let characters = with_characters(text);
    let spaces = with_spaces(text);
    let both = characters.as_deref().and_then(with_spaces);
    let all = [(Damage::Entities, characters), (Damage::LostSpaces, spaces), (Damage::Both, both)];
    all.into_iter().filter_map(|(damage, text)| Some((damage, text?))).collect()
}

/// The entities that escape a text, and their characters.
const ENTITIES: [(&str, char); 7] = [
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&quot;", '"'),
    ("&apos;", '\''),
    ("&#39;", '\''),
    ("&#x27;", '\''),
    ("&amp;", '&'),
];

/// The characters of a patch all of whose hunks were escaped. A hunk with a character that escaping replaces was not,
/// so what its entities are meant to be is not clear.
fn with_characters(text: &str) -> Option<String> {
    let is_header = |line: &&str| is_hunk_header(line);
    let mut hunks =
        text.lines().skip_while(|line| !is_header(line)).filter(|line| !is_header(line));
    if hunks.any(|line| line.contains(['<', '>'])) {
        return None;
    }
    let mut characters = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if is_header(&line) {
            characters.push_str(line);
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find('&') {
            characters.push_str(&rest[..at]);
            rest = &rest[at..];
            let (entity, character) = ENTITIES.iter().find(|(name, _)| rest.starts_with(name))?;
            characters.push(*character);
            rest = &rest[entity.len()..];
        }
        characters.push_str(rest);
    }
    (characters != text).then_some(characters)
}

/// The lines of hunks that do not begin with one of `signs`, by their indices in the patch.
fn unsigned<'t>(text: &'t str, signs: &[char]) -> Vec<(usize, &'t str)> {
    let lines = PatchText::new(text);
    let mut is_hunk = false;
    let mut unsigned = Vec::new();
    for (at, line) in (0..lines.len()).filter_map(|at| Some((at, lines.text(at)?))) {
        if is_hunk_header(line) {
            is_hunk = true;
        } else if is_fence(line) || is_envelope(line) || begins_file(&lines, at) {
            is_hunk = false;
        } else if is_hunk && !line.is_empty() && !line.starts_with(signs) {
            unsigned.push((at, line));
        }
    }
    unsigned
}

/// Refuses a patch with fewer lines than its headers say, if what passed for prose behind its hunks has a line of the
/// file.
pub(crate) fn refuse_lost_lines(
    file: &[u8],
    text: &str,
    patch: &Patch<'_>,
) -> Result<(), PatchError> {
    let is_line = |line: &str| {
        let own =
            file.split(|byte| *byte == b'\n').map(|own| own.strip_suffix(b"\r").unwrap_or(own));
        own.into_iter().any(|own| own == line.as_bytes())
    };
    let characters = with_characters(text);
    // A context line that begins with a backslash passes for a marker of a missing line end, which has a space there.
    let may_be_lost = |(_, line): &(_, &str)| !line.starts_with("\\ ");
    let unsigned = |text| unsigned(text, &[' ', '+', '-']).into_iter().filter(may_be_lost);
    let all = [Some(text), characters.as_deref()].into_iter().flatten().flat_map(unsigned);
    let Some((at, line)) = all.into_iter().find(|(_, line)| is_line(line)) else {
        return Ok(());
    };
    let hunk = patch.hunks.iter().rev().find(|hunk| hunk.patch_line <= at);
    let (hunk, header) = hunk.map_or((1, ""), |hunk| (hunk.number, hunk.header));
    let (header, text) = (excerpt(header), excerpt(line));
    Err(PatchError::UnsignedLine { hunk, header, patch_line: at + 1, text })
}

/// The patch with a space before each line that has no sign. `None` if there are none.
fn with_spaces(text: &str) -> Option<String> {
    let unsigned = unsigned(text, &[' ', '+', '-', '\\']);
    let mut next = unsigned.iter().map(|(at, _)| *at).peekable();
    next.peek()?;
    let mut repaired = String::with_capacity(text.len() + unsigned.len());
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if next.next_if_eq(&at).is_some() {
            repaired.push(' ');
        }
        repaired.push_str(line);
    }
    Some(repaired)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hunk_that_was_escaped_as_a_whole_is_read_with_characters() {
        let of = |body: &str| with_characters(&format!("@@ -1 +1 @@ if (a < b && c)\n{body}"));
        let end = |text: Option<String>| text.map(|text| text[27..].to_owned());
        assert_eq!(end(of("-a &lt; b\n+a &gt; b\n")).as_deref(), Some("\n-a < b\n+a > b\n"));
        assert_eq!(end(of("-&amp;lt;\n+&quot;\n")).as_deref(), Some("\n-&lt;\n+\"\n"));
        for body in ["-a\n+b\n", "-a &lt; b\n+a > b\n", "-a &amp; b\n+a && b\n", "-&copy;\n+c\n"] {
            assert_eq!(of(body), None, "{body}");
        }
    }

    #[test]
    fn only_lines_of_hunks_get_a_space() {
        let text = "Prose.\n```diff\n@@ -1,3 +1,3 @@\nfn a() {\n-    b\n+    c\n\n}\n```\nProse.\n";
        let repaired = with_spaces(text).expect("changed");
        assert_eq!(
            repaired,
            "Prose.\n```diff\n@@ -1,3 +1,3 @@\n fn a() {\n-    b\n+    c\n\n }\n```\nProse.\n"
        );
        assert_eq!(with_spaces(&repaired), None);
    }
}
