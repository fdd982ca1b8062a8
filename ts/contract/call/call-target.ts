import { hasCdPath } from './command-notes.js'
import type { CallTarget } from '../registry/contract-tool.js'
import { freeSteps } from '../permissions/free-steps.js'
import type { Subject } from '../permissions/rule-store.js'
import type { SessionCore } from '../session/session-core.js'
import { grammarOf, type SessionShell } from './shell.js'
import type { OpenedTarget } from '../../../index.js'
import type { ToolError } from '../../core/errors.js'

/** What rules judge of a target: one subject for each capability. `path` is the real path of what was opened. */
export function subjectsOf(target: CallTarget, path: string, shell: SessionShell): Subject[] {
  if (target.kind === 'capability') return [{ capability: target.name, kind: 'text', resource: target.resource }]
  if (target.kind === 'command') {
    const grammar = grammarOf(shell)
    return [{ capability: 'shell.run', kind: 'command', resource: target.command, ...(grammar === undefined ? {} : { shell: grammar }) }]
  }
  if (target.kind === 'host') return [{ capability: 'net.fetch', kind: 'host', resource: `${target.host}:${target.port}` }]
  const of = (capability: string): Subject => ({ capability, kind: 'path', resource: path })
  if (target.access === 'search') return [{ ...of('fs.read'), below: true }]
  if (target.access === 'edit') return [of('fs.read'), of('fs.write')]
  return [of(target.access === 'write' ? 'fs.write' : 'fs.read')]
}

/** What has no path: a capability by its name, or a tool that touches nothing. */
export const textSubject = (capability: string): Subject => ({ capability, kind: 'text', resource: '' })

/** A command line with the commands in it that only go to another directory of the workspace, and so need no rule. */
export function withFreeSteps(subject: Subject, workdir: string, { policy, roots, sandbox }: SessionCore): Subject {
  if (subject.kind !== 'command' || !/\bcd\b/u.test(subject.resource)) return subject
  const { commands } = policy.addon.parseCommandLine(subject.resource, subject.shell)
  return { ...subject, exempt: freeSteps(subject.resource, commands, { workdir, roots, hasSearchPath: hasCdPath(sandbox.env) }) }
}

/** What a call touches: opened, and within the capabilities. */
export interface RequestedTarget {
  target: CallTarget
  /** The file, or the directory of a command. Absent where it could not be opened. */
  opened: OpenedTarget | undefined
  /** Why it could not be opened; the tool reports it once the rules have decided. */
  error: ToolError | undefined
  /** Whether rules and user have agreed. Nothing uses the target before. */
  agreed: boolean
  /** Whether the user has been asked, and has agreed. */
  byUser: boolean
  subjects: Subject[]
}
