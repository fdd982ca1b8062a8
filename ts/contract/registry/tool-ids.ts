/** The ids that mean the same in every host: no other tool may take one, whether it is offered or not. */
export const lockedToolIds = Object.freeze([
  'read',
  'write',
  'edit',
  'glob',
  'grep',
  'bash',
  'todo',
  'task',
  'question',
  'web_search',
  'web_fetch',
  'skill',
  'tool_search',
] as const)

/** An id that is locked. */
export type LockedToolId = (typeof lockedToolIds)[number]

/** The use of a credential of the sandbox by a command: a capability by its name, and what rules about it are called. */
export const CREDENTIAL_CAPABILITY = 'net.credential'

/** Capabilities of requirement sets that have fields of their own, and those that a session knows by name. */
export const capabilityNames: readonly string[] = ['fs.read', 'fs.write', 'shell.run', 'net.fetch', CREDENTIAL_CAPABILITY]

/** Whether an id is locked. */
export const isLockedToolId = (id: string): id is LockedToolId => (lockedToolIds as readonly string[]).includes(id)

/** The kinds of tool calls of the Agent Client Protocol: what a client chooses icon and view by. */
export const acpToolKinds = ['read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'switch_mode', 'other'] as const

/** One of {@link acpToolKinds}. */
export type AcpToolKind = (typeof acpToolKinds)[number]

const kinds: Readonly<Record<string, AcpToolKind>> = {
  read: 'read',
  write: 'edit',
  edit: 'edit',
  glob: 'search',
  grep: 'search',
  bash: 'execute',
  todo: 'other',
  task: 'other',
  question: 'other',
  web_search: 'fetch',
  web_fetch: 'fetch',
  skill: 'think',
  tool_search: 'search',
  // Extensions that hosts of code agents offer.
  apply_patch: 'edit',
  repo_overview: 'read',
  process_start: 'execute',
  process_read: 'read',
  process_write: 'execute',
  process_stop: 'execute',
  lsp: 'search',
  repo_clone: 'execute',
  plan_exit: 'other',
}

/** The kind of a tool: fixed for the locked ids, `declared` for any other, or else `other`. */
export function acpToolKind(id: string, declared?: AcpToolKind): AcpToolKind {
  const fixed = typeof id === 'string' && Object.hasOwn(kinds, id) ? kinds[id] : undefined
  if (fixed !== undefined) return fixed
  return declared !== undefined && acpToolKinds.includes(declared) ? declared : 'other'
}
