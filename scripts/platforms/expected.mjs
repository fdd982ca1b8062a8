// What the report of the sandbox says at each place: what is not named is `kernel`.

/** Nothing limits the processes of root where no control group is delegated. */
const root = { limits: 'none' }
const noLandlock = { files: 'best-effort' }
/** Landlock is all that is left. */
const noMounts = { files: 'best-effort', fileMetadata: 'none', git: 'none', ipc: 'best-effort', limits: 'best-effort' }
/** Before Landlock knows scopes, signals reach the user's other processes. */
const noScopes = { ...noMounts, processKill: 'best-effort' }
const nothing = { ...noScopes, files: 'none', env: 'best-effort' }

/** The same whatever the processor and the C library are. */
const linux612 = (place) => ({
  [`${place}: root`]: root,
  [`${place}: user`]: {},
  [`${place}: user, no user namespaces`]: noMounts,
})

export const expected = {
  'linux-5.10: root': { ...noLandlock, ...root },
  'linux-5.10: user': noLandlock,
  'linux-5.10: user, no user namespaces': nothing,
  'linux-6.1: root': root,
  'linux-6.1: user': {},
  'linux-6.1: user, no user namespaces': noScopes,
  'linux-6.12-no-landlock: root': { ...noLandlock, ...root },
  'linux-6.12-no-landlock: user': noLandlock,
  'linux-6.12-no-landlock: user, no user namespaces': nothing,
  ...linux612('linux-6.12'),
  ...linux612('linux-6.12-no-cgroups'),
  ...linux612('linux-7'),
  // Since 6.14 a process namespace has a limit of its own.
  'linux-7: root': {},
  ...linux612('linux-6.12-musl'),
  ...linux612('linux-6.12-arm64'),
  ...linux612('linux-6.12-arm64-musl'),
  'docker: root': { ...noMounts, ...root },
  'docker: user': noMounts,
  'docker: user, no capabilities, read-only': noMounts,
  // Docker hides parts of /proc, so there is no process namespace, and no broker that a command cannot reach.
  'docker: user, namespaces allowed': { git: 'best-effort' },
  'docker: user, namespaces and /proc': {},
  'docker: user, seccomp unconfined': { git: 'best-effort' },
}
