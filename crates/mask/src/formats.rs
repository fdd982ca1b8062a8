//! Formats of tokens, from the pages of those who issue them.
//!
//! Each has a beginning that its vendor has chosen for being found, and a length. A text of the right form that stands in a
//! longer word is none. The table has no rule that guesses: no entropy, no `password=`.

use std::ops::Range;
use std::sync::OnceLock;

use memchr::memmem;
use regex_automata::meta::{BuildError, Regex};
use regex_automata::{Input, Match};

use crate::checksum;
use crate::literals::Place;

/// What else has to hold of a text of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Check {
    /// Nothing.
    None,
    /// The checksum of GitHub and npm behind a beginning of four letters.
    Checksum,
    /// Digits and letters behind the beginning, which words have not.
    Mixed,
}

struct Format {
    /// What stands in its place.
    name: &'static str,
    /// How its texts begin.
    beginnings: &'static [&'static str],
    /// The whole.
    pattern: &'static str,
    check: Check,
}

const fn format(
    name: &'static str,
    beginnings: &'static [&'static str],
    pattern: &'static str,
    check: Check,
) -> Format {
    Format { name, beginnings, pattern, check }
}

const KEY_BEGINNING: &str = "-----BEGIN";

/// The formats. Where a vendor says no length, it is the shortest that its examples have. One without a longest length has no
/// [`Check`]: otherwise the same bytes would be looked at for each place at which it might begin.
const FORMATS: [Format; 35] = [
    format(
        "GITHUB_TOKEN",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        "gh[pousr]_[A-Za-z0-9]{36}",
        Check::Checksum,
    ),
    format(
        "GITHUB_TOKEN",
        &["github_pat_"],
        "github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
        Check::None,
    ),
    format("NPM_TOKEN", &["npm_"], "npm_[A-Za-z0-9]{36}", Check::Checksum),
    format("AWS_ACCESS_KEY_ID", &["AKIA", "ASIA"], "A[KS]IA[A-Z2-7]{16}", Check::None),
    format(
        "ANTHROPIC_API_KEY",
        &["sk-ant-"],
        "sk-ant-[a-z]{3,8}[0-9]{2}-[A-Za-z0-9_-]{80,}",
        Check::None,
    ),
    format(
        "OPENAI_API_KEY",
        &["sk-proj-", "sk-svcacct-", "sk-admin-"],
        "sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}",
        Check::None,
    ),
    format("OPENAI_API_KEY", &["sk-"], "sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}", Check::None),
    format("OPENROUTER_API_KEY", &["sk-or-v1-"], "sk-or-v1-[0-9a-f]{64}", Check::Mixed),
    format(
        "SLACK_TOKEN",
        &["xoxa-", "xoxb-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"],
        "xox[aboprs]-[0-9]{10,13}-[0-9A-Za-z-]{20,}",
        Check::None,
    ),
    format(
        "SLACK_TOKEN",
        &["xoxe.xox", "xoxe-"],
        r"xoxe(?:\.xox[bp])?-[0-9]-[A-Za-z0-9]{100,}",
        Check::None,
    ),
    format(
        "SLACK_TOKEN",
        &["xapp-"],
        "xapp-[0-9]-[A-Z0-9]{9,12}-[0-9]{10,14}-[0-9a-f]{64}",
        Check::None,
    ),
    format(
        "STRIPE_KEY",
        &["sk_live_", "rk_live_", "sk_test_", "rk_test_"],
        "[sr]k_(?:live|test)_[0-9A-Za-z]{24,250}",
        Check::Mixed,
    ),
    format("STRIPE_WEBHOOK_SECRET", &["whsec_"], "whsec_[0-9A-Za-z]{32}", Check::Mixed),
    format("GOOGLE_API_KEY", &["AIza"], "AIza[0-9A-Za-z_-]{35}", Check::Mixed),
    format("GOOGLE_CLIENT_SECRET", &["GOCSPX-"], "GOCSPX-[0-9A-Za-z_-]{28}", Check::Mixed),
    format("GOOGLE_TOKEN", &["ya29."], r"ya29\.[0-9A-Za-z_-]{30,}", Check::None),
    format(
        "GITLAB_TOKEN",
        &["glpat-", "gldt-", "glrt-", "glptt-", "glsoat-", "glcbt-", "glft-", "glimt-", "gloas-"],
        r"gl(?:pat|dt|rt|ptt|soat|cbt|ft|imt|oas)-[0-9A-Za-z_-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?",
        Check::Mixed,
    ),
    format("PYPI_TOKEN", &["pypi-AgE"], "pypi-AgE[A-Za-z0-9_-]{50,}", Check::None),
    format("HUGGING_FACE_TOKEN", &["hf_"], "hf_[A-Za-z0-9]{34}", Check::None),
    format("SENDGRID_API_KEY", &["SG."], r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", Check::Mixed),
    format(
        "DIGITALOCEAN_TOKEN",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        "do[por]_v1_[0-9a-f]{64}",
        Check::Mixed,
    ),
    format(
        "DOCKER_TOKEN",
        &["dckr_pat_", "dckr_oat_"],
        "dckr_[po]at_[A-Za-z0-9_-]{27,40}",
        Check::Mixed,
    ),
    format("DATABRICKS_TOKEN", &["dapi"], "dapi[0-9a-f]{32}", Check::Mixed),
    format(
        "SHOPIFY_TOKEN",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
        Check::Mixed,
    ),
    format("SENTRY_TOKEN", &["sntryu_"], "sntryu_[0-9a-f]{64}", Check::Mixed),
    format("LINEAR_API_KEY", &["lin_api_"], "lin_api_[A-Za-z0-9]{40}", Check::Mixed),
    format("NOTION_TOKEN", &["ntn_"], "ntn_[0-9]{11}[A-Za-z0-9]{35}", Check::None),
    format("GROQ_API_KEY", &["gsk_"], "gsk_[A-Za-z0-9]{52}", Check::Mixed),
    format("XAI_API_KEY", &["xai-"], "xai-[A-Za-z0-9]{80}", Check::Mixed),
    format("PERPLEXITY_API_KEY", &["pplx-"], "pplx-[A-Za-z0-9]{48}", Check::Mixed),
    format("REPLICATE_API_TOKEN", &["r8_"], "r8_[A-Za-z0-9]{37}", Check::Mixed),
    format("VAULT_TOKEN", &["hvs.", "hvb."], r"hv[sb]\.[A-Za-z0-9_-]{90,}", Check::None),
    format("AGE_SECRET_KEY", &["AGE-SECRET-KEY-1"], "AGE-SECRET-KEY-1[0-9A-Z]{58}", Check::Mixed),
    format(
        "JWT",
        &["eyJ"],
        r"eyJ[A-Za-z0-9_-]{12,}\.eyJ[A-Za-z0-9_-]{12,}\.[A-Za-z0-9_-]{20,}",
        Check::None,
    ),
    format(
        "PRIVATE_KEY",
        &[KEY_BEGINNING],
        r"-----BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|\s){1,8}(?:[A-Za-z-]{4,20}: ?[^\n\\]{1,120}(?:\\[nr]|\s){1,8}){0,3}(?:[A-Za-z0-9+/=]|\\[nr]|\s){64,}(?:-----END [A-Z ]{1,40}-----)?",
        Check::None,
    ),
];

/// The place of the last one, whose texts have lines.
const PRIVATE_KEY: usize = FORMATS.len() - 1;
const HALF: usize = FORMATS.len() / 2;
/// No token that is still being read is longer. Of a longer one the rest is taken for a part of it.
pub(crate) const MAX_UNFINISHED: usize = 16 << 10;

pub(crate) struct Formats {
    /// Finds the formats wherever they stand: in two halves, each of which has few enough beginnings to be searched several
    /// times as fast as all together.
    anywhere: [Regex; 2],
    /// The same at the beginnings of words, in a third of the speed.
    in_words: Regex,
    /// The beginnings by their first bytes.
    beginnings: [Vec<&'static [u8]>; 256],
}

/// What follows a token that was too long to be kept back whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Letters of a word.
    Word,
    /// Lines of a key.
    Key,
}

impl Rest {
    /// Whether a byte belongs to it.
    pub(crate) fn has(self, byte: u8) -> bool {
        match self {
            Self::Word => byte.is_ascii_alphanumeric() || b"-_.".contains(&byte),
            Self::Key => byte.is_ascii_alphanumeric() || b"+/=\\ \t\r\n".contains(&byte),
        }
    }
}

impl Formats {
    /// The formats of the table, compiled once.
    pub(crate) fn get() -> Option<&'static Self> {
        static FORMATS: OnceLock<Option<Formats>> = OnceLock::new();
        FORMATS.get_or_init(|| Self::compile().ok()).as_ref()
    }

    fn compile() -> Result<Self, Box<BuildError>> {
        let mut beginnings = [const { Vec::new() }; 256];
        for beginning in FORMATS.iter().flat_map(|format| format.beginnings) {
            beginnings[usize::from(beginning.as_bytes()[0])].push(beginning.as_bytes());
        }
        let anywhere = [expression(0..HALF, "")?, expression(HALF..FORMATS.len(), "")?];
        let in_words = expression(0..FORMATS.len(), r"\b{start-half}")?;
        Ok(Self { anywhere, in_words, beginnings })
    }

    pub(crate) fn name(owner: usize) -> &'static str {
        FORMATS.get(owner).map_or("SECRET", |format| format.name)
    }

    /// What may follow a text of this format with which the bytes end.
    pub(crate) fn rest(owner: usize, bytes: &[u8]) -> Option<Rest> {
        match owner {
            PRIVATE_KEY if bytes.ends_with(b"-----") => None,
            PRIVATE_KEY => Some(Rest::Key),
            _ => Some(Rest::Word),
        }
    }

    /// The first token at `from` or behind it. `before` is the byte in front of all.
    pub(crate) fn find(
        &self,
        bytes: &[u8],
        from: usize,
        before: Option<u8>,
        cursor: &mut Cursor,
    ) -> Option<Place> {
        let mut from = from;
        loop {
            let place = self.next(bytes, from, cursor)?;
            if is_token(bytes, place, before) {
                return Some(place);
            }
            // Most often nothing else is in the same word, which is looked at once more and not at each of its letters.
            let end = end_of_word(bytes, place.start);
            from = place.start + 1;
            while let Some(found) = self.in_words.find(Input::new(bytes).span(from..end)) {
                let place = place_of(bytes, &found, 0);
                if is_token(bytes, place, before) {
                    return Some(place);
                }
                // Nothing begins in the middle of a name.
                let name = bytes[place.start..end].iter().take_while(|byte| is_of_name(**byte));
                from = place.start + name.count().max(1);
            }
            from = end;
        }
    }

    /// What looks like a token next.
    fn next(&self, bytes: &[u8], from: usize, cursor: &mut Cursor) -> Option<Place> {
        for ((half, first), next) in self.anywhere.iter().zip([0, HALF]).zip(&mut cursor.0) {
            let is_known = match next {
                Next::Unknown => false,
                Next::At(place) => place.start >= from,
                Next::Nowhere => true,
            };
            if !is_known {
                let found = half.find(Input::new(bytes).span(from..bytes.len()));
                *next =
                    found.map_or(Next::Nowhere, |found| Next::At(place_of(bytes, &found, first)));
            }
        }
        let places = cursor.0.iter().filter_map(|next| match next {
            Next::At(place) => Some(*place),
            _ => None,
        });
        places.min_by_key(|place| place.start)
    }

    /// The start of a token that may go on after the end of the input, and the class of its bytes.
    pub(crate) fn unfinished(&self, bytes: &[u8], before: Option<u8>) -> (usize, Rest) {
        let of_word = |byte: &u8| Rest::Word.has(*byte);
        let word = bytes.iter().rev().take(MAX_UNFINISHED + 1).take_while(|byte| of_word(byte));
        let word = bytes.len() - word.count();
        let is_begin = |at: usize| {
            let before = if at == 0 { before } else { Some(bytes[at - 1]) };
            !before.is_some_and(is_of_name)
        };
        let is_of_token = |at: &usize| {
            let part = &bytes[*at..];
            let begins = |beginning: &&[u8]| {
                let length = beginning.len().min(part.len());
                part[..length] == beginning[..length]
            };
            (part[0] == b'-' || is_begin(*at))
                && self.beginnings[usize::from(part[0])].iter().any(begins)
        };
        let word = (word..bytes.len()).find(is_of_token).unwrap_or(bytes.len());
        let key = unfinished_key(bytes);
        if key < word { (key, Rest::Key) } else { (word, Rest::Word) }
    }
}

/// What each half of the formats has found, so that none is looked for twice in the same bytes.
#[derive(Debug, Default)]
pub(crate) struct Cursor([Next; 2]);

#[derive(Debug, Default)]
enum Next {
    #[default]
    Unknown,
    At(Place),
    Nowhere,
}

/// Some formats, each behind `border`. A key has borders of its own.
fn expression(owners: Range<usize>, border: &str) -> Result<Regex, Box<BuildError>> {
    let patterns =
        owners.map(|owner| (owner, FORMATS[owner].pattern)).map(|(owner, pattern)| match owner {
            PRIVATE_KEY => format!("(?-u){pattern}"),
            _ => format!("(?-u){border}(?:{pattern})"),
        });
    let syntax = regex_automata::util::syntax::Config::new().unicode(false).utf8(false);
    Regex::builder()
        .configure(Regex::config().utf8_empty(false).nfa_size_limit(None))
        .syntax(syntax)
        .build_many(&patterns.collect::<Vec<_>>())
        .map_err(Box::new)
}

/// What was found of the formats from `first` on, without a key that follows without a border.
fn place_of(bytes: &[u8], found: &Match, first: usize) -> Place {
    let (owner, Range { start, end }) = (first + found.pattern().as_usize(), found.range());
    let key = memmem::find(&bytes[start..end], KEY_BEGINNING.as_bytes());
    let end = key.filter(|_| owner != PRIVATE_KEY).map_or(end, |key| start + key);
    Place { start, end, owner }
}

/// Whether what was found stands by itself, and is what it looks like.
fn is_token(bytes: &[u8], Place { start, end, owner }: Place, before: Option<u8>) -> bool {
    let before = if start == 0 { before } else { Some(bytes[start - 1]) };
    owner == PRIVATE_KEY
        || !before.is_some_and(is_of_name)
            && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric)
            && holds(FORMATS[owner].check, &bytes[start..end])
}

/// Where the word at `start` ends: at the latest where a key begins.
fn end_of_word(bytes: &[u8], start: usize) -> usize {
    let length = bytes[start..].iter().take_while(|byte| Rest::Word.has(**byte)).count().max(1);
    let key = memmem::find(&bytes[start..start + length], KEY_BEGINNING.as_bytes());
    start + key.filter(|at| *at > 0).unwrap_or(length)
}

/// Whether a byte can stand in a name, in which no token begins.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Where a private key has begun whose end is missing.
fn unfinished_key(bytes: &[u8]) -> usize {
    let first = bytes.len().saturating_sub(MAX_UNFINISHED + 1);
    let none = bytes.len();
    // Forwards: it is the faster way by far.
    let all = memmem::find_iter(&bytes[first..], KEY_BEGINNING.as_bytes());
    let Some(at) = all.last() else { return none };
    let key = &bytes[first + at..];
    let text = &key[KEY_BEGINNING.len()..];
    // ` RSA PRIVATE KEY-----`, and then lines.
    let (title, lines) = match memmem::find(text, b"-----") {
        Some(end) => (&text[..end], Some(&text[end + 5..])),
        None => (text, None),
    };
    let is_title = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ';
    let is_open = match lines {
        None => title.len() < 48 && title.iter().all(|byte| is_title(byte) || *byte == b'-'),
        Some(lines) => {
            let ends = memmem::find(lines, b"-----END")
                .is_some_and(|end| memmem::find(&lines[end + 8..], b"-----").is_some());
            let is_of_key = |byte: &u8| Rest::Key.has(*byte) || b"-:,".contains(byte);
            memmem::find(title, b"PRIVATE KEY").is_some() && !ends && lines.iter().all(is_of_key)
        }
    };
    if is_open { first + at } else { none }
}

fn holds(check: Check, token: &[u8]) -> bool {
    match check {
        Check::None => true,
        Check::Checksum => checksum::holds(token, 4),
        Check::Mixed => {
            token.iter().any(u8::is_ascii_digit) && token.iter().any(u8::is_ascii_alphabetic)
        }
    }
}
