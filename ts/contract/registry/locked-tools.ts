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

/** Whether an id is locked. */
export const isLockedToolId = (id: string): id is LockedToolId => (lockedToolIds as readonly string[]).includes(id)
