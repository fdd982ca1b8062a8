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
