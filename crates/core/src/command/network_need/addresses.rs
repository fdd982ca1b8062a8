//! `curl` and `wget`: what they fetch.

use std::net::IpAddr;

use super::options::Valued;
use super::{Need, Operands, is_local_path};

/// Without options that name another machine to ask, such as a proxy: their values are judged as targets are.
const CURL: Valued = Valued {
    letters: "AbcCdDeEFHKmoPQrtTuUwXyYz",
    names: "--abstract-unix-socket --alt-svc --aws-sigv4 --cacert --capath --cert --cert-type --ciphers --config --connect-timeout
        --continue-at --cookie --cookie-jar --create-file-mode --crlfile --curves --data --data-ascii --data-binary --data-raw --data-urlencode
        --delegation --dump-header --egd-file --engine --etag-compare --etag-save --expect100-timeout --form --form-string
        --ftp-account --ftp-method --happy-eyeballs-timeout-ms --header --hostpubmd5 --hostpubsha256 --hsts --interface --json --keepalive-time
        --key --key-type --krb --libcurl --limit-rate --local-port --login-options --max-filesize --max-redirs --max-time --netrc-file
        --noproxy --oauth2-bearer --output --output-dir --parallel-max --pass --pinnedpubkey --proto --proto-default --proto-redir --quote
        --random-file --range --rate --referer --request --request-target --retry --retry-delay --retry-max-time --service-name
        --speed-limit --speed-time --stderr --tcp-fastopen --telnet-option --time-cond --tls-max --tls13-ciphers --tlspassword --tlsuser --trace
        --trace-ascii --unix-socket --upload-file --url --url-query --user --user-agent --variable --write-out",
    flags: "",
};
const WGET: Valued = Valued {
    letters: "OPoaeiUtTwQBARDIXl",
    names: "--accept --append-output --base --bind-address --body-data --body-file --ca-certificate --ca-directory --certificate --certificate-type
        --config --connect-timeout --cut-dirs --default-page --directory-prefix --dns-timeout --domains --exclude-directories
        --exclude-domains --execute --header --hsts-file --http-password --http-user --include-directories --input-file --level --limit-rate
        --load-cookies --max-redirect --method --output-document --output-file --password --post-data --post-file --private-key --quota
        --read-timeout --referer --reject --rejected-log --retry-on-http-error --save-cookies --secure-protocol --start-pos --timeout --tries --user
        --user-agent --wait --waitretry --warc-file",
    flags: "",
};

pub(super) fn need(name: &str, arguments: &[Option<String>]) -> Option<Need> {
    let read = Operands::read(arguments, if name == "curl" { CURL } else { WGET });
    let is_unknown = read.has(&["-K", "--config", "--unix-socket", "--abstract-unix-socket"])
        || (name == "wget" && read.has(&["-i", "--input-file", "-e", "--execute"]))
        || read.options.iter().any(|(option, _)| is_help(option));
    if is_unknown || read.has_unknown {
        return None;
    }
    let named = read.values(&["--url"]).map(Some);
    let mut targets = read.words.iter().copied().chain(named).peekable();
    targets.peek()?;
    let is_elsewhere = |target: Option<&str>| target.is_some_and(|target| !may_be_here(target));
    targets.all(is_elsewhere).then(|| Need::Machine(name.to_owned()))
}

fn is_help(option: &str) -> bool {
    matches!(option, "--help" | "-h" | "--version" | "-V" | "--manual" | "-M")
}

/// Whether a target may be on this machine. A variable in it may stand for any address.
fn may_be_here(target: &str) -> bool {
    is_local_path(target) || target.contains('$') || is_loopback(target)
}

/// Whether an address, with or without a scheme, names this machine.
pub(super) fn is_loopback(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(literal) => literal.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_own = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_own)
}
