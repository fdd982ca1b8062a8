import { hasCdPath } from '../../core/environment.js'
import type { CallTarget } from '../registry/contract-tool.js'
import { freeSteps } from '../permissions/free-steps.js'
import type { Subject } from '../permissions/rule-store.js'
import type { ContractAddon } from '../permissions/session-capabilities.js'
import type { SessionSandbox } from './scope.js'
import { grammarOf, type SessionShell } from './shell.js'
import type { OpenedTarget } from '../../../index.js'
import type { ToolError } from '../../core/errors.js'

/** The subjects of a target: one for each capability. `path` is the real path of the opened file. */
export function subjectsOf(target: CallTarget, path: string, shell: SessionShell): Subject[] {
  if (target.kind === 'capability') return [{ capability: target.name, kind: 'text', resource: target.resource }]
  if (target.kind === 'command') {
    const grammar = grammarOf(shell)
    return [{ capability: 'shell.run', kind: 'command', resource: target.command, ...(grammar === undefined ? {} : { shell: grammar }) }]
  }
  if (target.kind === 'input') return [inputSubject(target.text, target.secret === true, shell)]
  if (target.kind === 'host') return [{ capability: 'net.fetch', kind: 'host', resource: `${target.host}:${target.port}` }]
  const of = (capability: string): Subject => ({ capability, kind: 'path', resource: path })
  if (target.access === 'search') return [{ ...of('fs.read'), below: true }]
  if (target.access === 'edit' || target.access === 'remove') return [of('fs.read'), of('fs.write')]
  return [of(target.access === 'write' || target.access === 'place' ? 'fs.write' : 'fs.read')]
}

/** The subject of a process's input. Its reader need not be a shell, but the rules judge the input as a shell's command line. */
function inputSubject(text: string, isSecret: boolean, shell: SessionShell): Subject {
  const grammar = grammarOf(shell)
  const subject: Subject = {
    capability: 'shell.run',
    kind: 'command',
    resource: text,
    ...(grammar === undefined ? {} : { shell: grammar }),
  }
  return isSecret ? { ...subject, isSecret } : subject
}

/** A subject without a path: a capability by its name, or a tool that touches nothing. */
export const textSubject = (capability: string): Subject => ({ capability, kind: 'text', resource: '' })

/** Marks the commands of a line that only change to another directory of the workspace: they need no rule. */
export function exemptFreeSteps(
  subject: Subject,
  workdir: string,
  { addon, roots, env }: { addon: ContractAddon; roots: readonly string[]; env: SessionSandbox['env'] },
): Subject {
  if (subject.kind !== 'command' || !/\bcd\b/u.test(subject.resource)) return subject
  const commands = addon.parseCommandLine(subject.resource, subject.shell)
  return { ...subject, exempt: freeSteps(subject.resource, commands, { workdir, roots, hasSearchPath: hasCdPath(env) }) }
}

export interface RequestedTarget {
  target: CallTarget
  /** The file, or the directory of a command; `undefined` if it could not be opened. */
  opened: OpenedTarget | undefined
  /** Why it could not be opened. The tool reports it once the rules have decided. */
  error: ToolError | undefined
  /** Whether rules and user have agreed. The tool gets the target only then. */
  approved: boolean
  approvedByUser: boolean
  subjects: Subject[]
}
