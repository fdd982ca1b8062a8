//! An SSH agent that signs with one key for the hosts of that key, and for nothing else.

mod agent;
mod host_key;
mod private_key;
mod rsa;
mod wire;

#[cfg(test)]
mod tests;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::OnceCell;
use toolwright_policy::Host;

use crate::broker::Broker;
use crate::error::CredentialError;
use crate::runtime;
use crate::uses::{Meter, Noted, Uses, Why};
use agent::{Agent, Outcome};
use private_key::PrivateKey;

/// The port of a host that is written without one.
const SSH: u16 = 22;
/// The longest message. A longer one ends the connection.
const MAX_MESSAGE: u32 = 64 << 10;
/// The name of the credential in records of its uses: the variable that points to the agent.
const SSH_VARIABLE: &str = "SSH_AUTH_SOCK";

/// A key as the host program writes it.
#[derive(Debug)]
pub struct SshOptions {
    /// In the form of OpenSSH, without a passphrase. None: it is asked for when it is needed.
    pub private_key: Option<String>,
    /// The hosts: `git.example.com`, at port 22 or another one.
    pub hosts: Vec<String>,
    /// Lines with the keys of these hosts, as `ssh-keyscan` prints them.
    pub known_hosts: String,
}

/// A host for which a key signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SshHost {
    name: String,
    port: u16,
}

impl SshHost {
    fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok()?),
            None => (text, SSH),
        };
        Some(Self { name: Host::parse(name)?.name().to_owned(), port })
    }

    /// As files of known hosts have it.
    fn known_as(&self) -> String {
        let Self { name, port } = self;
        if *port == SSH { name.clone() } else { format!("[{name}]:{port}") }
    }
}

#[derive(Debug)]
pub(crate) struct SshCredential {
    /// Each with its keys.
    hosts: Vec<(SshHost, Vec<Vec<u8>>)>,
    key: OnceCell<PrivateKey>,
}

impl SshCredential {
    pub(crate) fn read_all(options: Vec<SshOptions>) -> Result<Vec<Self>, CredentialError> {
        options.into_iter().enumerate().map(|(index, one)| Self::read(index, one)).collect()
    }

    fn read(index: usize, options: SshOptions) -> Result<Self, CredentialError> {
        let SshOptions { private_key, hosts, known_hosts } = options;
        let invalid = |field, problem: String| CredentialError::SshKey { index, field, problem };
        if hosts.is_empty() {
            return Err(invalid("hosts", "name at least one host".to_owned()));
        }
        let known = host_key::read_known_hosts(&known_hosts).map_err(|line| {
            invalid("knownHosts", format!("line {line} is no plain line of a host, a kind and a key, as ssh-keyscan prints them"))
        })?;
        let read = |text: &String| {
            let shown = text.escape_debug();
            let host = SshHost::parse(text).ok_or_else(|| {
                invalid("hosts", format!("`{shown}` is no host: write one such as git.example.com or git.example.com:2222"))
            })?;
            let name = host.known_as();
            let own = known.iter().filter(|line| line.names.contains(&name));
            let keys: Vec<_> = own.map(|line| line.key.clone()).collect();
            if keys.is_empty() {
                return Err(invalid("knownHosts", format!("it has no key of {name}")));
            }
            Ok((host, keys))
        };
        let hosts = hosts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let key = match private_key {
            None => OnceCell::new(),
            Some(text) => OnceCell::new_with(Some(
                PrivateKey::read(&text)
                    .map_err(|problem| invalid("privateKey", problem.to_owned()))?,
            )),
        };
        Ok(Self { hosts, key })
    }

    /// `None`: it is not known yet.
    fn key(&self) -> Option<&PrivateKey> {
        self.key.get()
    }

    /// The host that has this key.
    fn host_of(&self, host_key: &[u8]) -> Option<&SshHost> {
        let has = |(_, keys): &&(SshHost, Vec<Vec<u8>>)| keys.iter().any(|key| key == host_key);
        self.hosts.iter().find(has).map(|(host, _)| host)
    }

    /// The lines by which commands verify the hosts.
    fn known_hosts(&self) -> impl Iterator<Item = String> {
        self.hosts.iter().flat_map(|(host, keys)| {
            let written = keys.iter().filter_map(|key| host_key::written(key));
            written.map(|key| format!("{} {key}\n", host.known_as()))
        })
    }
}

impl Broker {
    /// Whether commands have an agent.
    #[must_use]
    pub fn has_agent(&self) -> bool {
        !self.ssh().is_empty()
    }

    /// What commands verify the hosts of SSH keys by, as a file of known hosts.
    #[must_use]
    pub fn known_hosts(&self) -> String {
        self.ssh().iter().flat_map(SshCredential::known_hosts).collect()
    }

    /// A connection to the agent: the end of a command. `None`: there is no agent, or there are too many connections.
    #[must_use]
    pub fn agent(self: &Arc<Self>, uses: Arc<Uses>) -> Option<OwnedFd> {
        if !self.has_agent() {
            return None;
        }
        let slot = self.slot()?;
        let (ours, theirs) = StdStream::pair().ok()?;
        ours.set_nonblocking(true).ok()?;
        let broker = Arc::clone(self);
        let task = async move {
            if let Ok(socket) = UnixStream::from_std(ours) {
                // How it ended, the other end hears.
                let _ = serve(&broker, socket, &uses).await;
            }
            drop(slot);
        };
        runtime::spawn(task).ok()?;
        Some(theirs.into())
    }

    /// Asks for the keys that are not known yet. One that is not given now is asked for again.
    async fn know_keys(&self) {
        for (index, one) in self.ssh().iter().enumerate() {
            let known = one.key.get_or_try_init(|| async {
                let text = self.asked_key(index).await.ok_or("there is none")?;
                PrivateKey::read(&text)
            });
            // Without it, this key is not listed and signs nothing.
            let _ = known.await;
        }
    }
}

/// Answers until the other end is closed.
async fn serve(broker: &Broker, mut socket: UnixStream, uses: &Uses) -> std::io::Result<()> {
    let mut agent = Agent::default();
    loop {
        let length = socket.read_u32().await?;
        if length == 0 || length > MAX_MESSAGE {
            note(uses, Outcome { signed: None, refused: Some(Why::Unclear) });
            return Ok(());
        }
        let mut message = Vec::new();
        (&mut socket).take(length.into()).read_to_end(&mut message).await?;
        if message.len() < length as usize {
            return Ok(());
        }
        if Agent::needs_keys(&message) {
            broker.know_keys().await;
        }
        let (answer, outcome) = agent.answer(broker.ssh(), &message);
        if let Some(outcome) = outcome {
            note(uses, outcome);
        }
        let length = u32::try_from(answer.len()).unwrap_or_default();
        socket.write_all(&[&length.to_be_bytes(), &*answer].concat()).await?;
    }
}

/// One row for each host, user and outcome.
fn note(uses: &Uses, Outcome { signed, refused }: Outcome) {
    let (host, port, login) = match &signed {
        Some((host, login)) => (&*host.name, host.port, &**login),
        None => ("", 0, ""),
    };
    let mut noted = Noted::new(host, port, "SIGN", login);
    noted.add(SSH_VARIABLE);
    uses.note(&noted, refused.map_or(Ok(None), Err), &Meter::default());
}
