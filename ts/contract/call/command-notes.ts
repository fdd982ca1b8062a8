import type { ContractBashOutcome, ContractGrants } from '../../../index.js'
import { leftRunningNote } from '../../core/command-notes.js'

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
