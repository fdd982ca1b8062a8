/** What the conversations that use one set of tools have seen of files. */
import type { RecordedRun } from '../journal/calls/call-record.js'
import type { ToolContext } from '../journal/calls/context.js'
import { journalRecorder } from '../journal/calls/recorders.js'
import { TaskRecorder } from '../journal/calls/task-recorder.js'
import { SeenFiles, type UnseenChanges } from '../journal/seen-files.js'

/** The most conversations. What the one that was used longest ago has seen is forgotten. */
const MAX_CONVERSATIONS = 256

/** The files that each task has seen, or calls outside any task. */
export class SeenFilesOfSet {
  readonly #options: { unseenChanges: 'refuse' | 'tell'; hasCheckpoints: boolean }
  readonly #conversations = new Map<string, SeenFiles>()

  private constructor(options: { unseenChanges: 'refuse' | 'tell'; hasCheckpoints: boolean }) {
    this.#options = options
  }

  /** `undefined` where nothing is to be compared. */
  static for(unseenChanges: UnseenChanges, hasCheckpoints: boolean): SeenFilesOfSet | undefined {
    return unseenChanges === 'allow' ? undefined : new SeenFilesOfSet({ unseenChanges, hasCheckpoints })
  }

  /** Those of the conversation that a call belongs to. */
  of(context: ToolContext | undefined, run: RecordedRun): SeenFiles {
    const recorder = journalRecorder(context, run)
    const { runId, nodeId, iteration = 0 } = recorder instanceof TaskRecorder ? recorder.task : (context ?? {})
    const key = runId && nodeId ? JSON.stringify([runId, nodeId, iteration]) : ''
    let seen = this.#conversations.get(key)
    if (seen === undefined) {
      const recorded = recorder instanceof TaskRecorder && !recorder.isNew ? recorder : undefined
      seen = new SeenFiles({ ...this.#options, recorded })
    } else if (this.#conversations.size === 1) return seen
    this.#conversations.delete(key)
    this.#conversations.set(key, seen)
    const [oldest] = this.#conversations.keys()
    if (this.#conversations.size > MAX_CONVERSATIONS && oldest !== undefined) this.#conversations.delete(oldest)
    return seen
  }
}

/** What the conversation of a call has seen of files, for a call that reads or changes one. */
export function seenBy(
  kind: string,
  ambient: ToolContext | undefined,
  bound: RecordedRun & { seen?: SeenFilesOfSet | undefined },
): SeenFiles | undefined {
  return kind === 'read' || kind === 'write' ? bound.seen?.of(ambient, bound) : undefined
}
