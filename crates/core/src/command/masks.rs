//! Which secrets are masked in what a command prints.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};

use toolwright_exec::OutputMask;
use toolwright_exec::environment::Reason;
use toolwright_mask::{Mask, Secret};

use super::credentials::CredentialSession;
use super::environment::{Passage, Variables};

/// What is masked, as the host chose: the values of variables that commands do not get, and these.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct MaskOptions {
    /// Formats of tokens too.
    pub tokens: bool,
    /// Secrets of the host, by their names.
    pub values: Vec<(String, String)>,
}

impl fmt::Debug for MaskOptions {
    /// Without values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskOptions").field("tokens", &self.tokens).finish_non_exhaustive()
    }
}

/// The mask of one command with these variables, and with the values of credentials that are known when it begins.
/// `None`: there is nothing to mask.
pub(crate) fn of_command(
    options: Option<&Arc<MaskOptions>>,
    credentials: Option<&Arc<CredentialSession>>,
    variables: &Passage,
) -> Option<Arc<OutputMask>> {
    let known = credentials.map(|credentials| credentials.known()).unwrap_or_default();
    let mask = if known.is_empty() {
        of_variables(options, variables)
    } else {
        // An answer of a host has placeholders: what still comes back has come in another way.
        let known =
            known.iter().map(|(name, value)| Secret::given(name, value.expose().as_bytes()));
        let options = options?;
        Mask::new(&secrets(options, variables, known), options.tokens).map(Arc::new)
    };
    mask.map(|mask| Arc::new(OutputMask::new(mask)))
}

/// What is masked: secrets of the host, those of credentials, and variables that commands do not get.
fn secrets(
    options: &MaskOptions,
    variables: &Passage,
    known: impl Iterator<Item = Secret>,
) -> Vec<Secret> {
    let given = options.values.iter().map(|(name, value)| Secret::given(name, value.as_bytes()));
    let withheld = variables.kept_values(&MASKED).map(|(name, value)| found(name, value));
    known.chain(given).chain(withheld).filter(Secret::is_masked).collect()
}

/// What is masked where commands have these variables.
pub(crate) fn of_variables(
    options: Option<&Arc<MaskOptions>>,
    variables: &Passage,
) -> Option<Arc<Mask>> {
    let options = options?;
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(last) = &*last
        && last.is_of(options, variables)
    {
        return last.mask.clone();
    }
    let secrets = secrets(options, variables, std::iter::empty());
    let mask = Mask::new(&secrets, options.tokens).map(Arc::new);
    let (options, variables) = (Arc::clone(options), variables.clone());
    *last = Some(Last { options, variables, mask: mask.clone() });
    mask
}

/// Whether the value of a variable that commands do not get is masked.
pub(crate) fn is_masked(reason: Reason, value: &OsStr) -> bool {
    MASKED.contains(&reason) && found(OsStr::new(""), value).is_masked()
}

/// The values that are masked are those of variables which commands do not get for one of these reasons.
const MASKED: [Reason; 2] = [Reason::SecretName, Reason::SecretValue];

fn found(name: &OsStr, value: &OsStr) -> Secret {
    Secret::found(&name.to_string_lossy(), value.as_bytes())
}

/// The last mask and what it was made of: hosts hardly ever change that between two commands.
struct Last {
    options: Arc<MaskOptions>,
    variables: Passage,
    mask: Option<Arc<Mask>>,
}

static LAST: Mutex<Option<Last>> = Mutex::new(None);

impl Last {
    fn is_of(&self, options: &Arc<MaskOptions>, variables: &Passage) -> bool {
        let is_same = |one: &Arc<Variables>, other: &Arc<Variables>| {
            Arc::ptr_eq(one, other) || **one == **other
        };
        (Arc::ptr_eq(&self.options, options) || self.options == *options)
            && is_same(&self.variables.host, &variables.host)
            && is_same(&self.variables.passed, &variables.passed)
    }
}

#[cfg(test)]
mod tests {
    use toolwright_mask::Counts;

    use super::*;
    use crate::command::environment::{Policy, of_command};

    fn masked(options: &MaskOptions, policy: &Policy, text: &str) -> String {
        let variables = [
            ("DEPLOY_TOKEN", "x7Gk29QmZp41"),
            ("AUTH_TYPE", "kerberos"),
            ("KEY_PATH", "/etc/ssl/private/key.pem"),
            ("EDITOR_NAME", "a8Kd93jfKq02LmxZ77Tb"),
            ("DATABASE", "postgres://app:Gk29x7QmZp41@db/app"),
        ];
        let host: Variables =
            variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let host = Arc::new(host);
        let passed = of_command(policy, &host, std::path::Path::new("/"));
        let mask = of_variables(Some(&Arc::new(options.clone())), &Passage { host, passed });
        let counts = &mut Counts::default();
        mask.map_or_else(|| text.to_owned(), |mask| mask.masked_text(text.to_owned(), counts))
    }

    #[test]
    fn what_is_withheld_as_a_secret_is_masked_and_nothing_else() {
        let text =
            "x7Gk29QmZp41 kerberos /etc/ssl/private/key.pem a8Kd93jfKq02LmxZ77Tb Gk29x7QmZp41";
        let options = MaskOptions::default();
        assert_eq!(
            masked(&options, &Policy::default(), text),
            "[DEPLOY_TOKEN] kerberos /etc/ssl/private/key.pem a8Kd93jfKq02LmxZ77Tb [DATABASE]"
        );
        // What the host passes to commands is not kept from their output.
        let allows = Policy::filtered(vec!["DEPLOY_*".to_owned()], Vec::new(), true);
        assert!(masked(&options, &allows, text).starts_with("x7Gk29QmZp41 kerberos"));
        assert_eq!(masked(&options, &Policy::Inherit, text), text);
        // That of the host stays a secret where commands have another one.
        let other = vec![("DEPLOY_TOKEN".into(), "b9Le04kgLr13MnyA88Uc".into())];
        let sets = Policy::filtered(Vec::new(), other, true);
        assert!(masked(&options, &sets, text).starts_with("[DEPLOY_TOKEN] kerberos"));
        let given = MaskOptions { values: vec![("WORD".into(), "kerberos".into())], ..options };
        assert!(masked(&given, &Policy::Inherit, text).contains(" [WORD] /etc"));
    }

    #[test]
    fn options_show_no_value() {
        let options =
            MaskOptions { tokens: true, values: vec![("A".into(), "x7Gk29QmZp41".into())] };
        assert!(!format!("{options:?}").contains("x7Gk"));
    }
}
