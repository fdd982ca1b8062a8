//! What is wrong with a list of credentials.

/// Why a list of credentials cannot be used. No message has a value in it.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// One of them cannot be meant.
    #[error("credentials[{index}].{field}: {problem}")]
    Invalid {
        /// Which one.
        index: usize,
        /// Which of its fields.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A transformation of requests cannot be meant.
    #[error("requestTransformations[{index}].{field}: {problem}")]
    Transformation {
        /// Which one.
        index: usize,
        /// Which of its fields.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// An SSH key cannot be meant.
    #[error("SSH key {index}, {field}: {problem}")]
    SshKey {
        /// Which one.
        index: usize,
        /// Which of its fields.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A certificate of the host program cannot be read.
    #[error("authorities[{index}]: it has no certificate in PEM form that can be read")]
    Authority {
        /// Which one.
        index: usize,
    },
    /// The machine has nothing that certificates can be verified with.
    #[error("the host has no certificates of authorities ({0})")]
    NoRoots(String),
    /// The certificate of the session could not be made.
    #[error("the certificate authority of the session could not be made: {0}")]
    Certificate(String),
    /// The system has no random numbers.
    #[error("the system gave no random numbers")]
    Random,
    /// No thread could be started.
    #[error("the thread that serves credentials could not be started: {0}")]
    Thread(std::io::Error),
}

impl CredentialError {
    pub(crate) fn invalid(index: usize, field: &'static str, problem: impl Into<String>) -> Self {
        Self::Invalid { index, field, problem: problem.into() }
    }
}
