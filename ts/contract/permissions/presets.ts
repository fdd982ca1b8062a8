import type { Rule } from './rule.js'

const everything = (permission: string): Rule => Object.freeze({ permission, pattern: '**', action: 'allow' })

const reads = everything('fs.read')
const writes = everything('fs.write')

/**
 * Lists of rules for `permissions`: alone, or with rules of your own behind them, which win since any pattern is more
 * specific: `[...presets.acceptEdits, { permission: 'bash', pattern: 'npm test', action: 'allow' }]`. What they do not
 * allow is asked for, and refused where nobody can be asked. They widen no capability, and what the manifest denies stays denied.
 */
export const presets = Object.freeze({
  /** Reading and searching files needs no agreement. */
  readOnly: Object.freeze([reads]) as readonly Rule[],
  /** Neither does creating, writing and editing files. Commands, the web and tools of servers are asked for. */
  acceptEdits: Object.freeze([reads, writes]) as readonly Rule[],
  /** Nothing needs agreement: every command runs, in the sandbox. It also answers what a watchdog would have asked. */
  allowAll: Object.freeze([everything('*')]) as readonly Rule[],
})
