import type { ContractBashOutcome, ContractGrants, EnvironmentOptions } from '../../../index.js'
import { leftRunningNote } from '../../core/left-running.js'
import { isMainThread } from 'node:worker_threads'
import type { EnvironmentOption } from '../../toolkit/settings.js'

/** A command that has ended, and what it was held by. */
export interface EndedCommand {
  ended: Pick<ContractBashOutcome, 'exitCode' | 'hint' | 'leftRunning' | 'timedOut'>
  grants: ContractGrants
}

/** What a model is to know of a command besides what it printed. */
export function commandNotes(command: EndedCommand): string[] {
  const left = leftRunningNote(command.ended.leftRunning)
  return [...refusalNotes(command), ...(left === undefined ? [] : [left])]
}

/** Why a command that failed may have failed, where it is the session that holds it. */
function refusalNotes({ ended, grants }: EndedCommand): string[] {
  const { notGranted = [], readable, writable, readsAll } = grants
  if (ended.exitCode === 0) return []
  const nowhere = !readsAll && readable.length === 0 && writable.length === 0
  const notes = [
    ...(ended.hint === undefined ? [] : [ended.hint]),
    ...(nowhere ? ['No directory is granted to commands here, so this one ran in /.'] : []),
  ]
  if (notGranted.length === 0) return notes
  return [...notes, `A process cannot be granted ${notGranted.join(', ')}: only whole directories, and the network as a whole.`]
}

/** Whether `process.env` is the environment of the process and not a copy of it. */
const sharesProcessEnvironment = isMainThread && process.versions['bun'] === undefined

/** The variables of a command: the host's, by default without what looks like a secret or injects code. */
export function commandEnvironment(
  network: boolean,
  option: EnvironmentOption = {},
): { environment: EnvironmentOptions; given?: Record<string, string> } {
  const { allow = [], set = {} } = option === 'inherit' ? {} : option
  const environment: EnvironmentOptions = { inherit: option === 'inherit', allow: [...allow], set: { ...set }, networkBlocked: !network }
  if (sharesProcessEnvironment) return { environment }
  const given = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { environment, given: Object.fromEntries(given) }
}

/** Whether commands have a CDPATH, by which `cd` finds directories elsewhere. */
export function hasCdPath(option: EnvironmentOption = {}): boolean {
  const { set = {} } = option === 'inherit' ? {} : option
  return (process.env['CDPATH'] ?? '') !== '' || (set['CDPATH'] ?? '') !== ''
}
