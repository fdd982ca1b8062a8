//! Secrets by name, and the ways to programs that hold them. All names are in capitals here.

use super::{find, is_one_of};

/// A word with one of these in it, anywhere, is about a secret, unless it is an ordinary word.
const FRAGMENTS: &[&str] = &[
    "KEY",
    "SECRET",
    "TOKEN",
    "PASSW",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "DSN",
    "COOKIE",
    "ASKPASS",  // a program that hands out passwords
    "PASSFILE", // PGPASSFILE
    "CONNSTR",  // SQLCONNSTR_…, a connection string with its password
    "WEBHOOK",  // an address that is the secret
];

/// A word that ends so is about a secret, unless it is an ordinary word: `DB_PASS`, `SSHPASS`.
const ENDINGS: &[&str] = &["PASS", "PASSWD", "CREDS"];

/// Names with a `PWD` that is a directory.
const DIRECTORIES: &[&str] = &["PWD", "OLDPWD", "OLD_PWD", "INIT_PWD"];

/// Whole names of secrets that no word gives away.
const NAMES: &[&str] = &[
    "AZUREWEBJOBSSTORAGE", // a connection string
    "ETCDCTL_USER",        // `user:password`
    "FASTLANE_SESSION",    // the cookies of a session at Apple
    "IDENTITY_HEADER",
    "KUBECONFIG_BASE64", // the whole of it, and not its path
    "KUBECONFIG_DATA",
    "KUBE_CONFIG",
    "KUBE_CONFIG_DATA",
    "MNEMONIC",
    "SEED_PHRASE",
    "SONAR_LOGIN", // takes a token
    "WALLET_MNEMONIC",
    "WALLET_SEED",
];

/// How the names of open sessions of password stores begin.
const SESSIONS: &[&str] = &["OP_SESSION_", "BW_SESSION", "LPASS_SESSION"];

/// Programs that act for the user unasked, or give access to the keyboard and the screen.
/// `SSH_AUTH_SOCK` and most others would match by name too; they are here for their reason.
const AGENTS: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "GNOME_KEYRING_CONTROL",
    "GNOME_KEYRING_PID",
    "DBUS_SESSION_BUS_ADDRESS", // the keyring, and the service manager that starts anything
    "DBUS_STARTER_ADDRESS",
    "NOTIFY_SOCKET",         // speaks to the service manager for the host
    "VSCODE_GIT_IPC_HANDLE", // git credentials from VS Code
    "VSCODE_IPC_HOOK",       // drives the editor
    "VSCODE_IPC_HOOK_CLI",
    "REMOTE_CONTAINERS_IPC", // the same in a development container
    "XAUTHORITY",            // opens the screen
    "ICEAUTHORITY",
    "KRB5CCNAME", // tickets
    "KRB5_KTNAME",
    "KRB5_CLIENT_KTNAME",
];

const AGENT_ENDINGS: &[&str] = &["_AGENT_SOCK", "_AGENT_INFO", "_AGENT_PID", "_ASKPASS"];

pub(super) fn is_agent(name: &[u8]) -> bool {
    is_one_of(AGENTS, name) || AGENT_ENDINGS.iter().any(|end| name.ends_with(end.as_bytes()))
}

pub(super) fn is_secret_name(name: &[u8]) -> bool {
    if is_one_of(NAMES, name) || is_of_account(name) {
        return true;
    }
    // A fragment has letters only, so it never spans two words.
    name.split(|byte| !byte.is_ascii_alphanumeric()).any(is_secret_word)
        && !is_one_of(DIRECTORIES, name)
        || find(name, b"CONNECTION_STRING").is_some()
}

/// Settings of Bundler that have a name behind them, and no host.
const OF_BUNDLER: &[&str] = &["BUILD__", "LOCAL__", "MIRROR__"];

/// Whether a name is that of an account of the user.
fn is_of_account(name: &[u8]) -> bool {
    // The dots of a host are doubled underscores.
    let is_host = |rest: &[u8]| {
        find(rest, b"__").is_some_and(|at| at > 0)
            && !OF_BUNDLER.iter().any(|setting| rest.starts_with(setting.as_bytes()))
    };
    name.strip_prefix(b"BUNDLE_").is_some_and(is_host)
        || SESSIONS.iter().any(|session| name.starts_with(session.as_bytes()))
}

fn is_secret_word(word: &[u8]) -> bool {
    let digits = word.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let word = &word[..word.len() - digits];
    let has = |fragment: &&str| find(word, fragment.as_bytes()).is_some();
    let ends = |suffix: &&str| word.ends_with(suffix.as_bytes());
    match word {
        // Ordinary words that hold a fragment, as in GIT_AUTHOR_NAME, AZURE_AUTHORITY_HOST and
        // TOKENIZERS_PARALLELISM.
        b"AUTHOR" | b"AUTHORED" | b"AUTHORING" | b"AUTHORITIES" | b"AUTHORITY" | b"AUTHORS"
        | b"AUTHORSHIP" | b"COAUTHOR" | b"COAUTHORS" | b"BYPASS" | b"COMPASS" | b"ENCOMPASS"
        | b"COOKIECUTTER" | b"DONKEY" | b"HOCKEY" | b"HOTKEY" | b"HOTKEYS" | b"JOCKEY"
        | b"KEYBINDING" | b"KEYBINDINGS" | b"KEYBOARD" | b"KEYBOARDS" | b"KEYCODE"
        | b"KEYCODES" | b"KEYFRAME" | b"KEYFRAMES" | b"KEYMAP" | b"KEYMAPS" | b"KEYNOTE"
        | b"KEYPAD" | b"KEYPRESS" | b"KEYSPACE" | b"KEYSPACES" | b"KEYSTROKE" | b"KEYSTROKES"
        | b"KEYTIMEOUT" | b"KEYWORD" | b"KEYWORDS" | b"MONKEY" | b"MONKEYS" | b"TURKEY"
        | b"WHISKEY" | b"SECRETARIAT" | b"SECRETARIES" | b"SECRETARY" | b"TOKENISATION"
        | b"TOKENISE" | b"TOKENISED" | b"TOKENISER" | b"TOKENISERS" | b"TOKENIZATION"
        | b"TOKENIZE" | b"TOKENIZED" | b"TOKENIZER" | b"TOKENIZERS" => false,
        // Whole words that are secrets. `PWD` is one in `MYSQL_PWD`, but not by itself.
        b"PAT" | b"JWT" | b"CRED" | b"PWD" => true,
        _ => FRAGMENTS.iter().any(has) || ENDINGS.iter().any(ends),
    }
}
