//! Which requests may have a credential.
//!
//! A rule is compared with the path as it is sent. A path that a server could read as another one is never
//! allowed by a rule.

/// A rule as it is written.
#[derive(Debug, Clone, Default)]
pub struct RuleOptions {
    /// The methods. None: every one.
    pub methods: Vec<String>,
    /// The path: `*` stands for a part of a name, and `**` for any number of names. None: every one.
    pub path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    methods: Vec<String>,
    path: Option<String>,
}

impl Rule {
    pub(crate) fn new(options: RuleOptions) -> Result<Self, (&'static str, String)> {
        let is_token = |text: &String| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
        };
        if !options.methods.iter().all(is_token) {
            return Err(("only", "a method is a word such as GET".to_owned()));
        }
        if let Some(path) = &options.path
            && (!path.starts_with('/') || !is_plain(path) || path.contains(['?', '#']))
        {
            let problem = "a path begins with /, and has no query, no `.` or `..` as a name and no empty name: write one such as /repos/acme/**";
            return Err(("only", problem.to_owned()));
        }
        let methods = options.methods.iter().map(|method| method.to_ascii_uppercase()).collect();
        Ok(Self { methods, path: options.path })
    }

    pub(crate) fn allows(&self, method: &str, path: &str) -> bool {
        let is_method =
            self.methods.is_empty() || self.methods.iter().any(|allowed| allowed == method);
        is_method && self.path.as_ref().is_none_or(|pattern| is_plain(path) && fits(pattern, path))
    }

    /// As a refusal names it.
    pub(crate) fn text(&self) -> String {
        let methods =
            if self.methods.is_empty() { "any method".to_owned() } else { self.methods.join("|") };
        format!("{methods} {}", self.path.as_deref().unwrap_or("/**"))
    }
}

/// Whether no server takes a path for another one: no name that leads up or is empty, and no separator or dot
/// that is written in another way. A slash at the end is fine.
pub(crate) fn is_plain(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let is_encoded = ["%2e", "%2f", "%5c", "%25", "%00"].iter().any(|code| lower.contains(code));
    let names: Vec<&str> = path.split('/').skip(1).collect();
    let last = names.len().saturating_sub(1);
    let is_name = |(at, name): (usize, &&str)| {
        // What follows a `;` belongs to no name for some servers.
        let name = name.split(';').next().unwrap_or_default();
        !matches!(name, "." | "..") && (!name.is_empty() || at == last)
    };
    !is_encoded && !path.contains('\\') && names.iter().enumerate().all(is_name)
}

/// Whether a path is plain and has no escapes and parameters either, so that a rule which denies a path has nothing to be written
/// around with.
pub(crate) fn has_one_form(path: &str) -> bool {
    is_plain(path) && path.bytes().all(|byte| byte.is_ascii_graphic() && !b"%;".contains(&byte))
}

fn fits(pattern: &str, path: &str) -> bool {
    let names = |text: &str| text.split('/').skip(1).map(str::to_owned).collect::<Vec<_>>();
    fit(&names(pattern), &names(path))
}

/// Each `**` takes as few names as it can. That the last one takes more is tried before any other.
fn fit(pattern: &[String], path: &[String]) -> bool {
    let (mut at, mut to) = (0, 0);
    let mut again = None;
    while to < path.len() {
        match pattern.get(at) {
            Some(step) if step == "**" => {
                // At the end it stands for at least one name.
                if at + 1 == pattern.len() {
                    return true;
                }
                again = Some((at, to));
                at += 1;
            }
            Some(step) if fits_name(step.as_bytes(), path[to].as_bytes()) => {
                at += 1;
                to += 1;
            }
            _ => match &mut again {
                Some((from, taken)) => {
                    *taken += 1;
                    (at, to) = (*from + 1, *taken);
                }
                None => return false,
            },
        }
    }
    at == pattern.len()
}

fn fits_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut to) = (0, 0);
    let mut again = None;
    while to < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                again = Some((at, to));
                at += 1;
            }
            Some(byte) if *byte == name[to] => {
                at += 1;
                to += 1;
            }
            _ => match &mut again {
                Some((from, taken)) => {
                    *taken += 1;
                    (at, to) = (*from + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(methods: &[&str], path: Option<&str>) -> Rule {
        let methods = methods.iter().map(|method| (*method).to_owned()).collect();
        Rule::new(RuleOptions { methods, path: path.map(str::to_owned) }).expect("a rule")
    }

    #[test]
    fn a_rule_has_methods_and_names() {
        let repositories = rule(&["get"], Some("/repos/acme/*"));
        assert!(repositories.allows("GET", "/repos/acme/site"));
        for (method, path) in [
            ("POST", "/repos/acme/site"),
            ("get", "/repos/acme/site"),
            ("GET", "/repos/acme/site/issues"),
            ("GET", "/repos/acme"),
            ("GET", "/repos/acme2/site"),
            ("GET", "/Repos/acme/site"),
        ] {
            assert!(!repositories.allows(method, path), "{method} {path}");
        }
        let below = rule(&[], Some("/repos/**/issues/*"));
        assert!(below.allows("PATCH", "/repos/acme/site/issues/7"));
        assert!(below.allows("PATCH", "/repos/issues/issues/7"));
        assert!(!below.allows("PATCH", "/repos/acme/site/pulls/7"));
        let all = rule(&[], Some("/v1/**"));
        assert!(all.allows("GET", "/v1/a/b/c") && all.allows("GET", "/v1/"));
        assert!(!all.allows("GET", "/v1") && !all.allows("GET", "/v2/a"));
        assert!(rule(&["GET"], None).allows("GET", "/%2e%2e/any"));
    }

    #[test]
    fn what_could_be_another_path_is_allowed_by_no_rule_with_a_path() {
        let rule = rule(&[], Some("/repos/acme/**"));
        for path in [
            "/repos/acme/../other/site",
            "/repos/acme/./x",
            "/repos/acme//x",
            "/repos/acme/%2e%2e/other",
            "/repos/acme/%2E%2e/other",
            "/repos/acme/x%2f..%2fy",
            "/repos/acme/x%5c..%5cy",
            "/repos/acme/..;/other",
            "/repos/acme/..;a=b/other",
            "/repos/acme/%252e%252e/other",
            "/repos/acme/\\..\\other",
        ] {
            assert!(!rule.allows("GET", path), "{path}");
        }
        assert!(rule.allows("GET", "/repos/acme/a.b/..c/d/"));
    }

    #[test]
    fn a_path_with_escapes_or_parameters_has_more_forms_than_one() {
        assert!(has_one_form("/repos/acme/a.b-c_d~e:f@g!/") && has_one_form("/"));
        for path in ["/%61dmin", "/admin;x=1/y", "/a/../admin", "//admin", "/\u{e9}"] {
            assert!(!has_one_form(path), "{path}");
        }
    }

    #[test]
    fn a_rule_that_cannot_be_meant_is_refused() {
        for path in ["repos", "/a/../b", "/a?b=c", "/a#b", "//a"] {
            let options = RuleOptions { methods: Vec::new(), path: Some(path.to_owned()) };
            assert!(Rule::new(options).is_err(), "{path}");
        }
        let options = RuleOptions { methods: vec!["GET /x".to_owned()], path: None };
        assert!(Rule::new(options).is_err());
    }
}
