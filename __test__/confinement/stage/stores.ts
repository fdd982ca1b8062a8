/** A file in each credential store of decisions.md, below the home directory. */
export const stores = [
  '.ssh/id_ed25519',
  '.gnupg/private-keys-v1.d/key',
  '.gnupg/openpgp-revocs.d/certificate',
  '.aws/credentials',
  '.azure/accessTokens.json',
  '.config/gcloud/credentials.db',
  '.config/gh/hosts.yml',
  '.kube/config',
  '.netrc',
  '.git-credentials',
  '.docker/config.json',
] as const
