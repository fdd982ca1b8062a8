import type { NativeThreadStore, ThreadOutcome, ValuesRange } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import { unwrap } from '../../core/native.js'
import { checked, checkSignal, givenOptions } from '../../core/options.js'
import { attachmentParts } from './attachment-bytes.js'
import { checkRange } from './thread-storage.js'
import { checkAttachment, checkBytes, checkCallPart, checkChanges, checkEntries, checkPart, checkText } from './store-checks.js'
import type {
  AttachmentRef,
  Committed,
  ListPart,
  NewAttachment,
  ReadRange,
  StoredCall,
  StoredMessage,
  StoredThread,
  ThreadChanges,
  ThreadStore,
  ThreadWorker,
  ValueRange,
  WorkerOptions,
} from './thread-store.js'
import { waitForWorker } from './wait-for-worker.js'

const id = (threadId: unknown): string => checkText('thread id', threadId)
const path = (text: unknown): string => checkText('attachment path', text)

/** The store of the addon: SQLite in a file, which several processes may share, or in memory. */
export class NativeThreads implements ThreadStore {
  readonly path: string
  readonly #native: NativeThreadStore

  constructor(native: NativeThreadStore, place: string) {
    this.#native = native
    this.path = place
  }

  async openThread(thread: { threadId: string; flowId: string }): Promise<StoredThread> {
    const { threadId, flowId } = givenOptions('store.openThread', thread, ['threadId', 'flowId'])
    return told(await this.#native.openThread(id(threadId), checkText('flow id', flowId)))
  }

  async getThread(threadId: string): Promise<StoredThread | undefined> {
    return told<StoredThread | null>(await this.#native.getThread(id(threadId))) ?? undefined
  }

  async listThreads(): Promise<StoredThread[]> {
    return told(await this.#native.listThreads())
  }

  async deleteThread(threadId: string): Promise<boolean> {
    return told(await this.#native.deleteThread(id(threadId)))
  }

  async readValues(threadId: string, keys: readonly string[]): Promise<[string, string][]> {
    return told(
      await this.#native.readValues(
        id(threadId),
        keys.map((key) => checkText('key', key)),
      ),
    )
  }

  async writeValues(threadId: string, entries: readonly (readonly [string, string])[]): Promise<void> {
    const [keys, values] = checkEntries(entries)
    unwrap(await this.#native.writeValues(id(threadId), keys, values))
  }

  async deleteValues(threadId: string, keys: readonly string[]): Promise<number> {
    return told(
      await this.#native.deleteValues(
        id(threadId),
        keys.map((key) => checkText('key', key)),
      ),
    )
  }

  async deleteAllValues(threadId: string): Promise<void> {
    unwrap(await this.#native.deleteAllValues(id(threadId)))
  }

  async listValues(threadId: string, range: ValueRange): Promise<[string, string][]> {
    const given = checkRange(range)
    const whole = { ...given, reverse: given.reverse ?? false } as ValuesRange
    return told(await this.#native.listValues(id(threadId), whole))
  }

  async commit(threadId: string, changes: ThreadChanges): Promise<Committed> {
    return told(await this.#native.commit(id(threadId), checkChanges(changes)))
  }

  async listMessages(threadId: string, part: ListPart = {}): Promise<StoredMessage[]> {
    return told(await this.#native.listMessages(id(threadId), checkPart(part)))
  }

  async getCall(threadId: string, callId: string): Promise<StoredCall | undefined> {
    return told<StoredCall | null>(await this.#native.getCall(id(threadId), checkText('call id', callId))) ?? undefined
  }

  async listCalls(threadId: string, given: Parameters<ThreadStore['listCalls']>[1] = {}): Promise<StoredCall[]> {
    const { status, queue, part } = checkCallPart(given)
    return told(await this.#native.listCalls(id(threadId), status as StoredCall['status'], queue, part))
  }

  async cancelQueued(threadId: string, queue?: string): Promise<StoredCall[]> {
    return told(await this.#native.cancelQueued(id(threadId), queue))
  }

  async lockThread(threadId: string, options: WorkerOptions = {}): Promise<ThreadWorker> {
    const thread = id(threadId)
    const given = givenOptions('store.lockThread', options, ['waitMs', 'signal'])
    checked('store.lockThread', () => checkSignal(given.signal))
    const ask = async () => told<{ worker: number; interrupted: StoredCall[] }>(await this.#native.lockThread(thread))
    const { worker, interrupted } = await waitForWorker(ask, given)
    // Nobody would give it back.
    if (given.signal?.aborted === true) this.#native.unlockThread(worker)
    given.signal?.throwIfAborted()
    return this.#worker(thread, worker, interrupted)
  }

  #worker(threadId: string, worker: number, interrupted: StoredCall[]): ThreadWorker {
    const native = this.#native
    let released = false
    const held = (): number => {
      if (!released) return worker
      throw releasedWorker(threadId)
    }
    return {
      interrupted,
      claim: async (queue = 'root') => told<StoredCall | null>(await native.claim(held(), checkText('queue', queue))) ?? undefined,
      claimCall: async (callId) => told(await native.claimCall(held(), checkText('call id', callId))),
      requeue: async (callId) => told(await native.requeue(held(), checkText('call id', callId))),
      release: () => {
        released = true
        native.unlockThread(worker)
      },
    }
  }

  async stageAttachment(
    threadId: string,
    attachment: NewAttachment,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<AttachmentRef> {
    const { signal } = givenOptions('store.stageAttachment', options, ['signal'])
    checked('store.stageAttachment', () => checkSignal(signal))
    signal?.throwIfAborted()
    const upload = told<number>(await this.#native.beginUpload(id(threadId), checkAttachment(attachment)))
    try {
      for await (const part of attachmentParts(attachment.data, signal)) {
        signal?.throwIfAborted()
        const appended = typeof part === 'string' ? this.#native.appendBase64(upload, part) : this.#native.appendBytes(upload, part)
        unwrap(await appended)
      }
      signal?.throwIfAborted()
      return told(await this.#native.finishUpload(upload))
    } catch (error) {
      await this.#native.dropUpload(upload)
      throw error
    }
  }

  async discardStaged(threadId: string, paths: readonly string[]): Promise<void> {
    unwrap(await this.#native.discardStaged(id(threadId), paths.map(path)))
  }

  async getAttachment(threadId: string, at: string): Promise<AttachmentRef | undefined> {
    return told<AttachmentRef | null>(await this.#native.getAttachment(id(threadId), path(at))) ?? undefined
  }

  async listAttachments(threadId: string): Promise<AttachmentRef[]> {
    return told(await this.#native.listAttachments(id(threadId)))
  }

  async readAttachment(threadId: string, at: string, range?: ReadRange): Promise<Uint8Array> {
    const { start, end } = checkBytes(range)
    const { bytes } = unwrap(await this.#native.readAttachment(id(threadId), path(at), start, end))
    return bytes === undefined ? new Uint8Array(0) : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  async deleteAttachment(threadId: string, at: string): Promise<boolean> {
    return told(await this.#native.deleteAttachment(id(threadId), path(at)))
  }

  async exportAttachment(threadId: string, at: string, directory: string): Promise<string> {
    return told(await this.#native.exportAttachment(id(threadId), path(at), checkText('directory', directory)))
  }

  async close(): Promise<void> {
    unwrap(await this.#native.close())
  }
}

function told<T>(outcome: ThreadOutcome): T {
  return JSON.parse(unwrap(outcome).json ?? 'null') as T
}

function releasedWorker(threadId: string): ToolError {
  const summary = 'The right to work on the thread was given back'
  return new ToolError({
    code: 'THREAD_LOCKED',
    summary,
    place: `${summary}: \`${threadId}\``,
    hint: 'Ask for it again.',
    details: { threadId },
  })
}
