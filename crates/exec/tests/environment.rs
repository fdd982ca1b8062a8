//! Which variables are passed.

use std::ffi::{OsStr, OsString};

use proptest::prelude::*;
use toolwright_exec::environment::{Filter, Policy, Reason, is_for_a_shell, reason};

fn why(name: &str, value: &str) -> Option<Reason> {
    reason(OsStr::new(name), OsStr::new(value))
}

fn pairs(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn names(passed: &[(OsString, OsString)]) -> Vec<&str> {
    passed.iter().map(|(name, _)| name.to_str().expect("utf-8")).collect()
}

#[test]
fn names_of_secrets() {
    for name in
        "API_KEY OPENAI_API_KEY openai_api_key MYAPIKEY KEY KEYS SSH_KEY_PATH AWS_ACCESS_KEY_ID \
        AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN SECRET CLIENT_SECRET SECRETS GITHUB_TOKEN \
        NPM_TOKEN TOKEN TOKENS Token2 PASSWORD PGPASSWORD DB_PASSWD PASSWD DB_PASS SSHPASS \
        DBPASS2 PASS_WORD GPG_PASSPHRASE GOOGLE_APPLICATION_CREDENTIALS CREDENTIALS_DIRECTORY \
        DB_CREDS AUTH AUTHORIZATION AUTHENTICATION_URL DOCKER_AUTH_CONFIG NODE_AUTH_TOKEN OAUTH2 \
        npm_config__auth npm_config_//registry.npmjs.org/:_authToken GITHUB_PAT PAT \
        AZURE_DEVOPS_EXT_PAT GITHUB_PAT_RO PAT2 SENTRY_DSN SENTRYDSN COOKIE SESSION_COOKIES \
        MYSQL_PWD DB_PWD SUPABASE_JWT AUTHOR_TOKEN MONKEY_KEY KEYBOARD_AUTH GITHUBAUTHORTOKEN \
        SSLKEYLOGFILE PGPASSFILE AZURE_STORAGE_CONNECTION_STRING SQLCONNSTR_MAIN \
        SLACK_WEBHOOK_URL a.key a-key-b BUNDLE_GEMS__EXAMPLE__COM BUNDLE_EXAMPLE__COM OP_SESSION_me \
        BW_SESSION AzureWebJobsStorage IDENTITY_HEADER ETCDCTL_USER MNEMONIC SEED_PHRASE \
        FASTLANE_SESSION KUBE_CONFIG KUBE_CONFIG_DATA KUBECONFIG_DATA KUBECONFIG_BASE64 SONAR_LOGIN"
            .split(' ')
    {
        assert_eq!(why(name, "x"), Some(Reason::SecretName), "{name}");
        assert_eq!(why(&name.to_lowercase(), ""), Some(Reason::SecretName), "{name}");
    }
}

/// What services that run builds give to them.
#[test]
fn secrets_of_builds() {
    for name in "CI_JOB_TOKEN CI_JOB_JWT CI_JOB_JWT_V2 CI_REGISTRY_PASSWORD CI_DEPLOY_PASSWORD CI_BUILD_TOKEN \
        ACTIONS_RUNTIME_TOKEN ACTIONS_ID_TOKEN_REQUEST_TOKEN ACTIONS_ID_TOKEN_REQUEST_URL SYSTEM_ACCESSTOKEN \
        BITBUCKET_STEP_OIDC_TOKEN BUILDKITE_AGENT_ACCESS_TOKEN CIRCLE_OIDC_TOKEN CIRCLE_OIDC_TOKEN_V2 \
        DRONE_NETRC_PASSWORD JENKINS_NODE_COOKIE encrypted_0a1b2c3d_key NETLIFY_PURGE_API_TOKEN VERCEL_OIDC_TOKEN \
        AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_CONTAINER_AUTHORIZATION_TOKEN AWS_WEB_IDENTITY_TOKEN_FILE \
        AZURE_FEDERATED_TOKEN_FILE MSI_SECRET GOOGLE_GHA_CREDS_PATH GCLOUD_SERVICE_KEY CODECOV_TOKEN TURBO_TOKEN \
        NX_CLOUD_ACCESS_TOKEN CYPRESS_RECORD_KEY MATCH_PASSWORD EXPO_TOKEN GEM_HOST_API_KEY TWINE_PASSWORD \
        CARGO_REGISTRY_TOKEN POETRY_PYPI_TOKEN_PYPI UV_INDEX_PRIVATE_PASSWORD SENTRY_AUTH_TOKEN SNYK_TOKEN \
        PULUMI_ACCESS_TOKEN VAULT_SECRET_ID ARM_CLIENT_SECRET ANSIBLE_VAULT_PASSWORD_FILE SSH_PRIVATE_KEY"
        .split(' ')
        .filter(|name| !name.is_empty())
    {
        assert_eq!(why(name, "x"), Some(Reason::SecretName), "{name}");
    }
    let url = "https://gitlab-ci-token:a8Kd93jfKq02@gitlab.example/me/x.git";
    assert_eq!(why("CI_REPOSITORY_URL", url), Some(Reason::SecretValue));
}

#[test]
fn ways_to_agents() {
    for name in
        "SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO GNOME_KEYRING_CONTROL GIT_ASKPASS SSH_ASKPASS \
        SUDO_ASKPASS VSCODE_GIT_IPC_HANDLE VSCODE_IPC_HOOK_CLI XAUTHORITY \
        DBUS_SESSION_BUS_ADDRESS NOTIFY_SOCKET KRB5CCNAME MY_AGENT_SOCK"
            .split(' ')
    {
        assert_eq!(why(name, "/run/x"), Some(Reason::Agent), "{name}");
    }
}

#[test]
fn what_injects_code() {
    for name in "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH OPENSSL_CONF \
        BASH_ENV ENV ZDOTDIR BASH_FUNC_ls%% SHELLOPTS PS4 PYTHONSTARTUP PYTHONHOME NODE_OPTIONS \
        node_options npm_config_node_options BUN_OPTIONS PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS \
        _JAVA_OPTIONS LUA_INIT_5_4 DOTNET_STARTUP_HOOKS CORECLR_PROFILER_PATH PHP_INI_SCAN_DIR \
        ERL_AFLAGS GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_EXEC_PATH \
        GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_CONFIG_PARAMETERS LESSOPEN \
        VIMINIT R_PROFILE_USER VSCODE_INSPECTOR_OPTIONS"
        .split(' ')
    {
        assert_eq!(why(name, "x"), Some(Reason::Injection), "{name}");
    }
    for name in ["NODE_CHANNEL_FD", "NODE_UNIQUE_ID", "LISTEN_FDS"] {
        assert_eq!(why(name, "3"), Some(Reason::Host), "{name}");
    }
}

#[test]
fn ordinary_work_goes_on() {
    for (name, value) in [
        ("PATH", "/bin:/usr/bin"),
        ("HOME", "/home/me"),
        ("USER", "me"),
        ("SHELL", "/bin/bash"),
        ("LANG", "C.UTF-8"),
        ("LC_ALL", "C"),
        ("TERM", "xterm"),
        ("TZ", "UTC"),
        ("TMPDIR", "/tmp"),
        ("PWD", "/"),
        ("OLDPWD", "/"),
        ("INIT_CWD", "/"),
        ("CI", "true"),
        ("DISPLAY", ":0"),
        ("GIT_AUTHOR_NAME", "Me"),
        ("GIT_AUTHOR_EMAIL", "me@example.org"),
        ("GIT_COMMITTER_NAME", "Me"),
        ("npm_package_author_name", "Me"),
        ("CO_AUTHOR", "You"),
        ("KEYBOARD", "us"),
        ("KEYBOARD_LAYOUT", "us"),
        ("XKB_KEYMAP", "us"),
        ("MONKEY", "1"),
        ("npm_package_keywords_0", "x"),
        ("KEYWORDS2", "x"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("AZURE_AUTHORITY_HOST", "https://login.example"),
        ("COOKIECUTTER_CONFIG", "/x"),
        ("COMPASS", "n"),
        ("BYPASS", "1"),
        ("SECRETARY", "x"),
        ("PATTERN", "x"),
        ("PATH_INFO", "/"),
        ("AWS_PROFILE", "dev"),
        ("AWS_REGION", "eu"),
        ("KUBECONFIG", "/x"),
        ("DESKTOP_SESSION", "x"),
        ("PYTHONPATH", "src"),
        ("NODE_PATH", "/x"),
        ("NODE_ENV", "test"),
        ("CLASSPATH", "/x"),
        ("VIRTUAL_ENV", "/venv"),
        ("CARGO_HOME", "/c"),
        ("RUSTFLAGS", "-g"),
        ("CC", "gcc"),
        ("GOPROXY", "off"),
        ("GOFLAGS", "-mod=mod"),
        ("EDITOR", "vi"),
        ("PAGER", "cat"),
        ("GIT_CONFIG_GLOBAL", "/x"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_PAGER", "cat"),
        ("http_proxy", "http://proxy:3128"),
        ("BUILD", "x"),
        ("BUNDLE_PATH", "vendor"),
        ("BUNDLE_BUILD__NOKOGIRI", "--use-system-libraries"),
        ("BUNDLE_LOCAL__RACK", "/x"),
        ("BUNDLE_WITHOUT", "test"),
        ("OP_ACCOUNT", "me"),
        ("MNEMONICS", "on"),
        ("SESSION_MANAGER", "local/x"),
        ("GIT_BRANCH", "sk-a-branch-of-somebody-with-a-long-name-2"),
        ("npm_config_cache", "/home/me/.npm"),
        ("LS_COLORS", "rs=0:di=01;34:ln=01;36:*.tar=01;31"),
        ("OLD_PWD", "/"),
        ("", "x"),
        ("_", "/x"),
    ] {
        assert_eq!(why(name, value), None, "{name}");
    }
}

#[test]
fn passwords_in_addresses() {
    for value in [
        "postgres://user:pw@host/db",
        "redis://:pw@host:6379",
        "https://me:pw@host",
        "a+b://u:p@h",
        "https://token@github.com/x",
        "HTTP://t@h",
        "jdbc:postgresql://u:p@h/db",
        "-Durl=mysql://u:p@h -x",
        "https://a.example https://u:p@b.example",
        "amqp://u:p:q@h",
        "[\"mongodb://u:p@h\"]",
        "postgres://u:pa/ss@h/db",
        "postgres://u:p?s@h",
        "x://u:p@q@h",
    ] {
        assert_eq!(why("PLACE", value), Some(Reason::SecretValue), "{value}");
        assert_eq!(why("DATABASE_URL", value), Some(Reason::SecretValue), "{value}");
    }
    for value in [
        "",
        "://",
        "https://host",
        "https://host:8080/path",
        "http://localhost:4873/@scope",
        "http://[::1]:80/@scope",
        "ssh://git@github.com/x",
        "postgres://me@localhost/db",
        "git@github.com:a/b",
        "user:pass@host",
        "redis://default:@host",
        "https://a/b:c@d",
        "https://a.example/x?mail=me@b",
        "unix:///run/x",
        "file:///a:b@c",
        "https://@host",
        "http://a:80 you:me@there",
        "://u:p@h",
    ] {
        assert_eq!(why("PLACE", value), None, "{value}");
    }
}

#[test]
fn proxies_only_with_a_network() {
    let variables = pairs(&[
        ("http_proxy", "http://p:1"),
        ("HTTPS_PROXY", "http://p:1"),
        ("ALL_PROXY", "socks5://p:1"),
        ("no_proxy", "localhost"),
        ("npm_config_https_proxy", "http://p:1"),
        ("GOPROXY", "off"),
    ]);
    let open = Policy::default();
    assert_eq!(open.apply(variables.clone()), variables);
    let blocked = Filter { network_blocked: true, ..Filter::default() };
    assert_eq!(blocked.reason(OsStr::new("NO_PROXY"), OsStr::new("")), Some(Reason::Proxy));
    let allowing = Filter { allow: vec!["no_PROXY".to_owned()], ..blocked.clone() };
    assert_eq!(names(&Policy::Filtered(blocked).apply(variables.clone())), ["GOPROXY"]);
    assert_eq!(names(&Policy::Filtered(allowing).apply(variables)), ["no_proxy", "GOPROXY"]);
}

#[test]
fn exceptions() {
    let variables = pairs(&[
        ("PATH", "/bin"),
        ("GITHUB_TOKEN", "t"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("AWS_REGION", "r"),
        ("DATABASE_URL", "pg://u:p@h"),
        ("NODE_OPTIONS", "--x"),
        ("LANG", "C"),
    ]);
    assert_eq!(names(&Policy::default().apply(variables.clone())), ["PATH", "AWS_REGION", "LANG"]);
    assert_eq!(Policy::Inherit.apply(variables.clone()), variables);
    let filtered = |allow: &[&str], set: &[(&str, &str)]| {
        let allow = allow.iter().map(|&name| name.to_owned()).collect();
        let filter = Filter { allow, set: pairs(set), ..Filter::default() };
        Policy::Filtered(filter).apply(variables.clone())
    };
    assert_eq!(filtered(&["*"], &[]), variables);
    let passed = filtered(&["aws_*", "DATABASE_URL"], &[]);
    assert_eq!(
        names(&passed),
        ["PATH", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "DATABASE_URL", "LANG"]
    );
    assert_eq!(names(&filtered(&["G*_T*N"], &[])), ["PATH", "GITHUB_TOKEN", "AWS_REGION", "LANG"]);
    for miss in ["", "GITHUB", "GITHUB_TOKEN2", "*_TOKE", "ITHUB_TOKEN", "G*B*B_TOKEN"] {
        assert_eq!(names(&filtered(&[miss], &[])), ["PATH", "AWS_REGION", "LANG"], "{miss}");
    }
    let passed = filtered(&[], &[("LANG", "de"), ("LD_PRELOAD", "/x.so"), ("MY_TOKEN", "m")]);
    assert_eq!(
        passed,
        pairs(&[
            ("PATH", "/bin"),
            ("AWS_REGION", "r"),
            ("LANG", "de"),
            ("LD_PRELOAD", "/x.so"),
            ("MY_TOKEN", "m"),
        ])
    );
}

/// A person's editor would wait for a person.
#[test]
fn an_editor_ends_at_once_unless_the_host_program_sets_it() {
    let of = |host: &[(&str, &str)], set: &[(&str, &str)], allow: &[&str]| {
        let allow = allow.iter().map(|&name| name.to_owned()).collect();
        let passed = Policy::filtered(allow, pairs(set), false).apply(pairs(host));
        passed.into_iter().collect::<std::collections::BTreeMap<_, _>>()
    };
    let is_own = |value: &OsString| value.to_string_lossy().contains("TOOLWRIGHT_NO_EDITOR");
    let all = ["EDITOR", "GIT_EDITOR", "VISUAL"].map(OsString::from);
    let host = [("EDITOR", "vim"), ("VISUAL", "code --wait"), ("GIT_SEQUENCE_EDITOR", "nano")];
    let passed = of(&host, &[], &[]);
    assert!(all.iter().all(|name| is_own(&passed[name])), "{passed:?}");
    assert!(!passed.contains_key(OsStr::new("GIT_SEQUENCE_EDITOR")));
    let passed = of(&host, &[("EDITOR", "ed")], &["VISUAL"]);
    assert_eq!(
        (&*passed[&all[0]], &*passed[&all[2]]),
        (OsStr::new("ed"), OsStr::new("code --wait"))
    );
    assert!(is_own(&passed[&all[1]]));
    assert_eq!(of(&[("GIT_EDITOR", "true")], &[], &[])[&all[1]], "true");
    let terminal = Policy::filtered(Vec::new(), Vec::new(), false).with_terminal();
    assert_eq!(terminal.apply(pairs(&host)), pairs(&host));
    assert_eq!(Policy::Inherit.with_terminal().apply(pairs(&host)), pairs(&host));
}

#[test]
fn what_cannot_be_passed_does_not_fail_the_call() {
    let variables = pairs(&[("", "x"), ("=C:", "x"), ("A\0", "x"), ("B", "\0"), ("C", "")]);
    assert_eq!(names(&Policy::Inherit.apply(variables.clone())), ["C"]);
    let allow = vec!["*".to_owned()];
    let filter = Filter { allow, ..Filter::default() };
    assert_eq!(names(&Policy::Filtered(filter).apply(variables)), ["C"]);
}

#[test]
fn bytes_that_are_not_text() {
    use std::os::unix::ffi::OsStringExt;
    let bytes = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let secret = (bytes(b"\xff_TOKEN\xfe"), bytes(b"x"));
    let value = (bytes(b"U\xff"), bytes(b"\xff x://u:\xfe@h"));
    let plain = (bytes(b"P\xff"), bytes(b"\xfe"));
    let passed = Policy::default().apply([secret, value, plain.clone()]);
    assert_eq!(passed, [plain]);
}

fn cases() -> u32 {
    let factor = std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|f| f.parse().ok());
    500 * factor.unwrap_or(1)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    /// The rows of the ruling, without a word of ours that excuses a name.
    #[test]
    fn no_name_of_a_secret_passes(
        before in "[A-Za-z0-9_.]{0,8}",
        fragment in prop::sample::select(vec![
            "KEY", "SECRET", "TOKEN", "PASSW", "PASSPHRASE", "CREDENTIAL", "AUTH", "DSN", "COOKIE",
        ]),
        flips in any::<u16>(),
        after in "(_[A-Za-z0-9_]{0,8})?",
        value in "[^\\x00]{0,12}",
    ) {
        let fragment: String = fragment.char_indices().map(|(at, letter)| {
            if flips & (1 << at) == 0 { letter } else { letter.to_ascii_lowercase() }
        }).collect();
        let name = format!("{before}{fragment}{after}");
        let ordinary = ["MONKEY", "DONKEY", "TURKEY", "HOTKEY", "HOCKEY", "JOCKEY", "WHISKEY"];
        let upper = name.to_uppercase();
        prop_assume!(!upper.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
            ordinary.contains(&word.trim_end_matches(|c: char| c.is_ascii_digit()))
        }));
        let variables = [(OsString::from(&name), OsString::from(value))];
        prop_assert!(Policy::default().apply(variables.clone()).is_empty(), "{name} passed");
        let allow = vec![name.to_uppercase()];
        let allowing = Policy::Filtered(Filter { allow, ..Filter::default() });
        prop_assert_eq!(allowing.apply(variables.clone()).len(), 1);
        prop_assert_eq!(Policy::Inherit.apply(variables).len(), 1);
    }

    #[test]
    fn no_address_with_a_password_passes(
        name in "[A-Z]{1,3}",
        scheme in "[a-z][a-z0-9+.-]{0,5}",
        user in "[a-z0-9%]{0,6}",
        password in "[^@\\s\"'<>\\x00/?#]{1,8}",
        around in "[a-z =,;(]{0,6}",
    ) {
        let value = format!("{around}{scheme}://{user}:{password}@host/x{around}");
        prop_assert!(Policy::default().apply([(name.into(), value.into())]).is_empty());
    }

    #[test]
    fn it_takes_anything(name in any::<Vec<u8>>(), value in any::<Vec<u8>>(), allow in ".{0,6}") {
        use std::os::unix::ffi::OsStringExt;
        let variables = [(OsString::from_vec(name), OsString::from_vec(value))];
        let filter = Filter { allow: vec![allow], ..Filter::default() };
        prop_assert!(Policy::Filtered(filter).apply(variables).len() <= 1);
    }
}

#[test]
fn what_makes_a_shell_read_or_run_something_else() {
    for name in
        "BASH_ENV ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND BASH_COMPAT POSIXLY_CORRECT CDPATH \
        GLOBIGNORE EXECIGNORE BASH_FUNC_ls%% BASH_FUNC_a()"
            .split(' ')
    {
        assert!(is_for_a_shell(OsStr::new(name)), "{name}");
    }
    for name in "PATH HOME PWD SHELL BASH ENVIRONMENT NODE_ENV PS1 TERM LANG IFS CI".split(' ') {
        assert!(!is_for_a_shell(OsStr::new(name)), "{name}");
    }
}
