import type { NativeThreadStore, ValuesRange } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import { unwrap } from '../../core/native.js'
import { checked, checkSignal, givenOptions } from '../../core/options.js'
import { parseRow, parseRows } from '../../core/parse-rows.js'
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
const checkKeys = (keys: readonly string[]): string[] => keys.map((key) => checkText('key', key))

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
    return JSON.parse(unwrap(await this.#native.openThread(id(threadId), checkText('flow id', flowId)))) as StoredThread
  }

  async getThread(threadId: string): Promise<StoredThread | undefined> {
    return parseRow(unwrap(await this.#native.getThread(id(threadId))))
  }

  async listThreads(): Promise<StoredThread[]> {
    return parseRows(unwrap(await this.#native.listThreads()))
  }

  async deleteThread(threadId: string): Promise<boolean> {
    return unwrap(await this.#native.deleteThread(id(threadId)))
  }

  async readValues(threadId: string, keys: readonly string[]): Promise<[string, string][]> {
    return parseRows(unwrap(await this.#native.readValues(id(threadId), checkKeys(keys))))
  }

  async writeValues(threadId: string, entries: readonly (readonly [string, string])[]): Promise<void> {
    const [keys, values] = checkEntries(entries)
    unwrap(await this.#native.writeValues(id(threadId), keys, values))
  }

  async deleteValues(threadId: string, keys: readonly string[]): Promise<number> {
    return unwrap(await this.#native.deleteValues(id(threadId), checkKeys(keys)))
  }

  async deleteAllValues(threadId: string): Promise<void> {
    unwrap(await this.#native.deleteAllValues(id(threadId)))
  }

  async listValues(threadId: string, range: ValueRange): Promise<[string, string][]> {
    const given = checkRange(range)
    const whole = { ...given, reverse: given.reverse ?? false } as ValuesRange
    return parseRows(unwrap(await this.#native.listValues(id(threadId), whole)))
  }

  async commit(threadId: string, changes: ThreadChanges): Promise<Committed> {
    const { messages, calls } = unwrap(await this.#native.commit(id(threadId), checkChanges(changes)))
    return { messages: await parseRows(messages), calls: await parseRows(calls) }
  }

  async listMessages(threadId: string, part: ListPart = {}): Promise<StoredMessage[]> {
    return parseRows(unwrap(await this.#native.listMessages(id(threadId), checkPart(part))))
  }

  async getCall(threadId: string, callId: string): Promise<StoredCall | undefined> {
    return parseRow(unwrap(await this.#native.getCall(id(threadId), checkText('call id', callId))))
  }

  async listCalls(threadId: string, given: Parameters<ThreadStore['listCalls']>[1] = {}): Promise<StoredCall[]> {
    const { status, queue, part } = checkCallPart(given)
    return parseRows(unwrap(await this.#native.listCalls(id(threadId), status as StoredCall['status'], queue, part)))
  }

  async cancelQueued(threadId: string, queue?: string): Promise<StoredCall[]> {
    return parseRows(unwrap(await this.#native.cancelQueued(id(threadId), queue)))
  }

  async lockThread(threadId: string, options: WorkerOptions = {}): Promise<ThreadWorker> {
    const thread = id(threadId)
    const given = givenOptions('store.lockThread', options, ['waitMs', 'signal'])
    checked('store.lockThread', () => checkSignal(given.signal))
    const ask = async () => unwrap(await this.#native.lockThread(thread))
    const { worker, interrupted } = await waitForWorker(ask, given)
    // The caller gets no worker that it could release.
    if (given.signal?.aborted === true) this.#native.unlockThread(worker)
    given.signal?.throwIfAborted()
    return this.#worker(thread, worker, await parseRows(interrupted))
  }

  #worker(threadId: string, worker: number, interrupted: StoredCall[]): ThreadWorker {
    const native = this.#native
    let released = false
    const ownWorker = (): number => {
      if (!released) return worker
      throw releasedWorker(threadId)
    }
    return {
      interrupted,
      claim: async (queue = 'root') => parseRow(unwrap(await native.claim(ownWorker(), checkText('queue', queue)))),
      claimCall: async (callId) => JSON.parse(unwrap(await native.claimCall(ownWorker(), checkText('call id', callId)))) as StoredCall,
      requeue: async (callId) => JSON.parse(unwrap(await native.requeue(ownWorker(), checkText('call id', callId)))) as StoredCall,
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
    const upload = unwrap(await this.#native.beginUpload(id(threadId), checkAttachment(attachment)))
    try {
      for await (const part of attachmentParts(attachment.data, signal)) {
        signal?.throwIfAborted()
        const appended = typeof part === 'string' ? this.#native.appendBase64(upload, part) : this.#native.appendBytes(upload, part)
        unwrap(await appended)
      }
      signal?.throwIfAborted()
      return JSON.parse(unwrap(await this.#native.finishUpload(upload))) as AttachmentRef
    } catch (error) {
      await this.#native.dropUpload(upload)
      throw error
    }
  }

  async discardStaged(threadId: string, paths: readonly string[]): Promise<void> {
    unwrap(await this.#native.discardStaged(id(threadId), paths.map(path)))
  }

  async getAttachment(threadId: string, at: string): Promise<AttachmentRef | undefined> {
    return parseRow(unwrap(await this.#native.getAttachment(id(threadId), path(at))))
  }

  async listAttachments(threadId: string): Promise<AttachmentRef[]> {
    return parseRows(unwrap(await this.#native.listAttachments(id(threadId))))
  }

  async readAttachment(threadId: string, at: string, range?: ReadRange): Promise<Uint8Array> {
    const { start, end } = checkBytes(range)
    const bytes = unwrap(await this.#native.readAttachment(id(threadId), path(at), start, end))
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  async deleteAttachment(threadId: string, at: string): Promise<boolean> {
    return unwrap(await this.#native.deleteAttachment(id(threadId), path(at)))
  }

  async exportAttachment(threadId: string, at: string, directory: string): Promise<string> {
    return unwrap(await this.#native.exportAttachment(id(threadId), path(at), checkText('directory', directory)))
  }

  async close(): Promise<void> {
    unwrap(await this.#native.close())
  }
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
