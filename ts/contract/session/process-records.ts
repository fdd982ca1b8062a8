import type { ProcessRecord, RecordProcess, UntoldEnd } from '../../core/processes/process-entry.js'
import { howItEnded } from '../../core/processes/process-texts.js'
import { recordedEnd } from '../../journal/calls/process-record.js'
import { ContractFailure, thrownText } from '../registry/envelope.js'
import type { BackgroundMessages } from './background-messages.js'

const STOPPED = 'was stopped when its session was closed'

/** Records the processes of a session as work in the background: a row at the start, completed with the end. */
export const recordProcesses =
  (background: BackgroundMessages): RecordProcess =>
  async (processId, command) => {
    const recorded = await background.record({ processId, command }).catch((error: unknown) => {
      const text = `The process could not be recorded, and was not started: ${thrownText(error)}`
      throw new ContractFailure('recording_failed', text, { cause: error })
    })
    if (recorded === undefined) return undefined
    return {
      async failed(error) {
        await recorded.end({ failure: `was not started: ${thrownText(error)}` })
        await recorded.markDelivered()
      },
      async ended(end, isClosed) {
        await recorded.end({ output: isClosed ? STOPPED : howItEnded(end), facts: recordedEnd(end) })
      },
      async detached(id) {
        await recorded.end({ output: `goes on as ${id}`, facts: { detached_as: id } })
        await recorded.markDelivered()
      },
      told: () => recorded.markDelivered(),
    } satisfies ProcessRecord
  }

/** Adds the ends of processes to the messages of the agent's next step. */
export function tellEnds(background: BackgroundMessages, ends: readonly UntoldEnd[]): void {
  for (const { id: processId, command, end, record } of ends) {
    const output = `${howItEnded(end)}. process_read gives its last output`
    background.add({ processId, command }, { output }, record === undefined ? undefined : { markDelivered: () => record.told() })
  }
}
