//! Permission rules and command lines.

use std::sync::Arc;

use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;
use toolwright_core::access::permission::{self, Call, CallVerdict, Touched};
use toolwright_core::access::rules::{self, WrittenRule};
use toolwright_policy::shell::{self, Dialect};
use toolwright_policy::{Decided, Resource, Rules, Subject};

use super::policy::ContractVariables;
use crate::call::Outcome;
use crate::cross::{Cross, convert, cross};

/// A permission rule.
#[napi(object)]
pub struct ContractRule {
    /// A tool, a capability, or `*`.
    pub permission: String,
    /// A path, a host or a command.
    pub pattern: String,
    /// `allow`, `deny` or `ask`, which is the default.
    #[napi(ts_type = "'allow' | 'deny' | 'ask'")]
    pub action: Option<String>,
    /// `manifest`, `project` or `session`, which is the default.
    #[napi(ts_type = "'manifest' | 'project' | 'session'")]
    pub source: Option<String>,
}

cross! { ContractRule => WrittenRule { permission, pattern, action, source } }

/// Rules, compiled. They do not change.
#[napi]
#[derive(Clone)]
pub struct ContractRules(pub(super) Arc<Rules>);

convert! { Rules => ContractRules: |rules| ContractRules(Arc::new(rules)); }

/// Compiles permission rules. `manifest` is what errors call the list of the manifest's rules, if
/// not `manifest.permissions`.
#[napi(catch_unwind, ts_return_type = "ContractRules | Unfinished")]
pub fn compile_rules(
    variables: ContractVariables,
    rules: Vec<ContractRule>,
    manifest: Option<String>,
) -> Outcome<ContractRules> {
    rules::compile(rules.cross(), &variables.cross(), manifest.as_deref()).into()
}

/// What a call does to one thing.
#[napi(object)]
pub struct ContractSubject {
    /// `fs.read`, `shell.run`, a capability's name, or the tool's for one without any.
    pub capability: String,
    /// `path`, `host`, `command` or `text`.
    #[napi(ts_type = "'path' | 'host' | 'command' | 'text'")]
    pub kind: String,
    /// The real path, the host, the command line, or another text.
    pub resource: String,
    /// The shell that reads a command line; absent where the shell is unknown, as for `sh`.
    #[napi(ts_type = "'bash'")]
    pub shell: Option<String>,
    /// It lies in one of the session's own directories: only a deny of a manifest closes it.
    pub implicit: Option<bool>,
    /// The commands of a command line that need no rule.
    pub exempt: Option<Vec<String>>,
}

impl ContractSubject {
    fn touched(&self) -> Touched<'_> {
        let shell = Dialect::of_shell(self.shell.as_deref());
        let resource = Resource::of_kind(&self.kind, &self.resource, shell);
        Touched {
            subject: Subject { capability: &self.capability, resource },
            is_implicit: self.implicit.unwrap_or(false),
            exempt: self.exempt.as_deref().unwrap_or_default(),
        }
    }
}

/// A call to decide about.
#[napi(object)]
pub struct ContractCall {
    /// The tool's identifier.
    pub tool_id: String,
    /// What the call touches.
    pub subjects: Vec<ContractSubject>,
    /// The tool requires no capability.
    pub requires_nothing: bool,
}

/// What was decided about one subject, or one command of a line.
#[napi(object, object_from_js = false)]
pub struct ContractSubjectVerdict {
    /// The subject's capability.
    pub capability: String,
    /// The resource, or the command as it was compared.
    pub resource: String,
    /// `allow`, `deny` or `ask`.
    #[napi(ts_type = "'allow' | 'deny' | 'ask'")]
    pub action: &'static str,
    /// Which rule decided, by its index in the list; absent where none matched.
    pub rule: Option<u32>,
    /// It is a deny of the manifest.
    #[napi(js_name = "final")]
    pub is_final: bool,
    /// Why only a rule for everything may allow it.
    pub restricted: Option<String>,
}

impl Cross<ContractSubjectVerdict> for Decided {
    fn cross(self) -> ContractSubjectVerdict {
        let Self { capability, resource, ruling, restricted } = self;
        let (action, rule, is_final) = (ruling.action.word(), ruling.rule.cross(), ruling.is_final);
        ContractSubjectVerdict { capability, resource, action, rule, is_final, restricted }
    }
}

/// What was decided about a call.
#[napi(object, object_from_js = false)]
pub struct ContractVerdict {
    /// The strictest of all: `allow`, `deny` or `ask`.
    #[napi(ts_type = "'allow' | 'deny' | 'ask'")]
    pub action: &'static str,
    /// Whether any rule matched anything.
    pub matched: bool,
    /// Rules of sessions and projects alone allow all of it.
    pub user_allowed: bool,
    /// The list that decided, by its index in the chain.
    pub level: u32,
    /// The first subject that is judged as strictly as the call, by its index in `subjects`.
    pub decisive: Option<u32>,
    /// What that list says: one for each subject, and for each command of a command line.
    pub subjects: Vec<ContractSubjectVerdict>,
}

impl Cross<ContractVerdict> for CallVerdict {
    fn cross(self) -> ContractVerdict {
        ContractVerdict {
            action: self.strictness.action().word(),
            matched: self.is_matched,
            user_allowed: self.user_allows,
            level: self.level.cross(),
            decisive: self.decisive.cross(),
            subjects: self.decided.cross(),
        }
    }
}

/// Decides about a call by the rules of a session and then those of the sessions above it. What no rule
/// matches is asked about.
#[napi(catch_unwind)]
pub fn decide_call(
    chain: Vec<ClassInstance<'_, ContractRules>>,
    call: ContractCall,
) -> ContractVerdict {
    let chain: Vec<Arc<Rules>> = chain.iter().map(|rules| Arc::clone(&rules.0)).collect();
    let touched: Vec<Touched<'_>> = call.subjects.iter().map(ContractSubject::touched).collect();
    let ContractCall { tool_id, requires_nothing, .. } = &call;
    let call = Call { tool: tool_id, touched: &touched, requires_nothing: *requires_nothing };
    permission::decide(&chain, &call).cross()
}

/// One simple command of a line.
#[napi(object)]
pub struct ParsedCommand {
    /// Its words as rules compare them.
    pub text: String,
    /// Its words, if all are known.
    pub argv: Option<Vec<String>>,
    /// The files that it is connected to by redirections, its own and those around it.
    pub redirects: Vec<ParsedRedirect>,
    /// Why only a rule for everything may allow it.
    pub restricted: Option<String>,
}

/// A redirection from or to a file.
#[napi(object)]
pub struct ParsedRedirect {
    /// `<`, `>`, `>>`, `>|`, `<>`, `>&`, `<&`, `&>` or `&>>`.
    pub operator: String,
    /// The path, if it is known before the line runs.
    pub path: Option<String>,
}

cross! {
    shell::SimpleCommand => ParsedCommand { text, argv, redirects, restricted; .. }
    shell::Redirection => ParsedRedirect { operator, path }
}

/// Every simple command in a command line, wherever it stands, for bash or for an unknown shell.
#[napi(catch_unwind)]
pub fn parse_command_line(
    line: String,
    #[napi(ts_arg_type = "'bash' | undefined")] shell: Option<String>,
) -> Vec<ParsedCommand> {
    shell::parse_once(&line, Dialect::of_shell(shell.as_deref())).commands.clone().cross()
}

/// Patterns that a user may want to record for a command line, one for each of its commands; none
/// where only a rule for everything would do.
#[napi(catch_unwind)]
pub fn suggest_pattern(
    line: String,
    #[napi(ts_arg_type = "'bash' | undefined")] shell: Option<String>,
) -> Vec<String> {
    shell::suggest(&line, Dialect::of_shell(shell.as_deref()))
}

/// Something that only bash has.
#[napi(object, object_from_js = false)]
pub struct BashOnlySyntax {
    /// What it looks like.
    pub found: String,
    /// What says the same to every shell.
    pub instead: String,
}

cross! { shell::BashOnly => BashOnlySyntax { found: syntax, instead } }

/// The first thing in a command line that bash has and a plain shell does not, or reads otherwise.
#[napi(catch_unwind)]
pub fn bash_only_syntax(line: String) -> Option<BashOnlySyntax> {
    shell::bash_only(&line).cross()
}
