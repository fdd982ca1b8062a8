import type { ContractBashOutcome, ContractGrants } from '../../../index.js'
import { leftRunningNote } from '../../core/command-notes.js'

/** A command that has ended, and what it was granted. */
export interface EndedCommand {
  ended: Pick<ContractBashOutcome, 'exitCode' | 'hint' | 'leftRunning' | 'timedOut'>
  grants: ContractGrants
}

/** Notes for the model about a command, besides its output. */
export function commandNotes(command: EndedCommand): string[] {
  const left = leftRunningNote(command.ended.leftRunning)
  return [...refusalNotes(command), ...(left === undefined ? [] : [left])]
}

/** Notes about restrictions of the session that may explain a failure. */
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
