/** What the report of the sandbox says at each place: what is not named is `kernel`. */
export const expected = {
  'linux-5.10: root': {
    files: 'best-effort',
    limits: 'none',
  },
  'linux-5.10: user': {
    files: 'best-effort',
  },
  'linux-5.10: user, no user namespaces': {
    files: 'none',
    fileMetadata: 'none',
    ipc: 'best-effort',
    processKill: 'best-effort',
    limits: 'best-effort',
    env: 'best-effort',
  },
  'linux-6.1: root': {
    limits: 'none',
  },
  'linux-6.1: user': {},
  'linux-6.1: user, no user namespaces': {
    files: 'best-effort',
    fileMetadata: 'none',
    ipc: 'best-effort',
    processKill: 'best-effort',
    limits: 'best-effort',
  },
  'linux-6.12-no-landlock: root': {
    files: 'best-effort',
    limits: 'none',
  },
  'linux-6.12-no-landlock: user': {
    files: 'best-effort',
  },
  'linux-6.12-no-landlock: user, no user namespaces': {
    files: 'none',
    fileMetadata: 'none',
    ipc: 'best-effort',
    processKill: 'best-effort',
    limits: 'best-effort',
    env: 'best-effort',
  },
  'linux-6.12: root': {
    limits: 'none',
  },
  'linux-6.12: user': {},
  'linux-6.12: user, no user namespaces': {
    files: 'best-effort',
    fileMetadata: 'none',
    ipc: 'best-effort',
    limits: 'best-effort',
  },
  'docker: root': {
    files: 'best-effort',
    fileMetadata: 'none',
    ipc: 'best-effort',
    limits: 'none',
  },
  'docker: user': {
    files: 'best-effort',
    fileMetadata: 'none',
    ipc: 'best-effort',
    limits: 'best-effort',
  },
  'docker: user, no capabilities, read-only': {
    files: 'best-effort',
    fileMetadata: 'none',
    ipc: 'best-effort',
    limits: 'best-effort',
  },
  'docker: user, seccomp unconfined': {},
}
