import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import {
  ToolError,
  waitForWorker,
  type AttachmentRef,
  type Committed,
  type ListPart,
  type NewAttachment,
  type ReadRange,
  type StoredCall,
  type StoredMessage,
  type StoredThread,
  type ThreadChanges,
  type ThreadStore,
  type ThreadWorker,
  type ToolErrorCode,
  type ValueRange,
  type WorkerOptions,
} from './stores.ts'

interface Thread {
  thread: StoredThread
  values: Map<string, string>
  messages: StoredMessage[]
  calls: StoredCall[]
  files: Map<string, { ref: AttachmentRef; bytes: Buffer }>
  staged: Map<string, { ref: AttachmentRef; bytes: Buffer }>
}

const failure = (code: ToolErrorCode) => new ToolError({ code, summary: code })
const utf8 = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
const images: Record<string, string> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/gif': 'gif', 'image/webp': 'webp' }

function part<T extends { seq: number }>(rows: T[], { after, limit = Infinity, reverse = false }: ListPart = {}): T[] {
  const ordered = reverse ? rows.toReversed() : rows
  const beyond = ordered.filter(({ seq }) => after === undefined || (reverse ? seq < after : seq > after))
  return structuredClone(beyond.slice(0, limit))
}

/** The smallest store that does what one must do: what the tests of `toolwright/standard-agents/testing` are checked by. */
export class ReferenceStore implements ThreadStore {
  readonly path = 'memory:'
  readonly #threads = new Map<string, Thread>()
  readonly #locked = new Set<string>()
  #closed = false

  #of(threadId: string): Thread {
    if (this.#closed) throw failure('THREAD_CLOSED')
    const thread = this.#threads.get(threadId)
    if (thread === undefined) throw failure('THREAD_NOT_FOUND')
    return thread
  }

  async openThread({ threadId, flowId }: { threadId: string; flowId: string }): Promise<StoredThread> {
    if (this.#closed) throw failure('THREAD_CLOSED')
    if (!/^[^\p{Cc}\p{Cs}]+$/u.test(threadId) || Buffer.byteLength(threadId) > 512) throw failure('THREAD_NAME_REFUSED')
    const thread = { threadId, flowId, createdAtMs: Date.now() }
    if (!this.#threads.has(threadId)) {
      const [values, files, staged] = [new Map(), new Map(), new Map()]
      this.#threads.set(threadId, { thread, values, messages: [], calls: [], files, staged })
    }
    return { ...this.#of(threadId).thread }
  }

  async getThread(threadId: string) {
    return structuredClone(this.#threads.get(threadId)?.thread)
  }

  async listThreads() {
    return structuredClone([...this.#threads.values()].map(({ thread }) => thread))
  }

  async deleteThread(threadId: string) {
    if (this.#locked.has(threadId)) throw failure('THREAD_LOCKED')
    return this.#threads.delete(threadId)
  }

  async readValues(threadId: string, keys: readonly string[]) {
    const { values } = this.#of(threadId)
    const existing = [...new Set(keys)].filter((key) => values.has(key)).toSorted(utf8)
    return existing.map((key): [string, string] => [key, values.get(key) ?? ''])
  }

  async writeValues(threadId: string, entries: readonly (readonly [string, string])[]) {
    for (const [key, value] of entries) this.#of(threadId).values.set(key, value)
    this.#of(threadId)
  }

  async deleteValues(threadId: string, keys: readonly string[]) {
    return keys.filter((key) => this.#of(threadId).values.delete(key)).length
  }

  async deleteAllValues(threadId: string) {
    this.#of(threadId).values.clear()
  }

  async listValues(threadId: string, { prefix = '', start, startAfter, end, reverse = false, limit }: ValueRange) {
    const sorted = [...this.#of(threadId).values].toSorted(([a], [b]) => utf8(a, b))
    const matching = sorted.filter(
      ([key]) =>
        key.startsWith(prefix) &&
        (start === undefined || utf8(key, start) >= 0) &&
        (startAfter === undefined || utf8(key, startAfter) > 0) &&
        (end === undefined || utf8(key, end) < 0),
    )
    return (reverse ? matching.toReversed() : matching).slice(0, limit)
  }

  async commit(threadId: string, changes: ThreadChanges): Promise<Committed> {
    const thread = this.#of(threadId)
    const { finish, attachments = [], messages = [], enqueue = [] } = changes
    const ending = finish && this.#call(thread, finish.callId, 'running')
    const now = Date.now()
    if (attachments.some((path) => !thread.staged.has(path))) throw failure('THREAD_ATTACHMENT_NOT_FOUND')
    const newMessages = messages.map((message, index) => ({
      id: message.id ?? randomUUID(),
      seq: thread.messages.length + index + 1,
      role: message.role,
      bodyJson: message.bodyJson,
      callId: message.callId ?? null,
      createdAtMs: now,
    }))
    const newCalls = enqueue.map((call, index): StoredCall => ({
      id: call.id ?? randomUUID(),
      seq: thread.calls.length + index + 1,
      name: call.name,
      argumentsJson: call.argumentsJson,
      queue: call.queue ?? 'root',
      forceAllow: call.forceAllow ?? false,
      parentCallId: call.parentCallId ?? null,
      infoJson: call.infoJson ?? null,
      status: 'queued',
      attempts: 0,
      resultJson: null,
      queuedAtUs: now * 1000,
      startedAtMs: null,
      finishedAtMs: null,
    }))
    for (const rows of [
      [...thread.messages, ...newMessages],
      [...thread.calls, ...newCalls],
    ]) {
      if (new Set(rows.map(({ id }) => id)).size < rows.length) throw failure('THREAD_DUPLICATE_ID')
    }
    if (ending && finish) Object.assign(ending, { status: finish.status, resultJson: finish.resultJson, finishedAtMs: now })
    for (const path of attachments) {
      thread.files.set(path, thread.staged.get(path) as never)
      thread.staged.delete(path)
    }
    thread.messages.push(...newMessages)
    thread.calls.push(...newCalls)
    return structuredClone({ messages: newMessages, calls: newCalls })
  }

  #call(thread: Thread, id: string, status: StoredCall['status']): StoredCall {
    const call = thread.calls.find((one) => one.id === id)
    if (call === undefined) throw failure('THREAD_CALL_NOT_FOUND')
    if (call.status !== status) throw failure('THREAD_CALL_STATE')
    return call
  }

  async listMessages(threadId: string, options?: ListPart) {
    return part(this.#of(threadId).messages, options)
  }

  async getCall(threadId: string, callId: string) {
    return structuredClone(this.#of(threadId).calls.find(({ id }) => id === callId))
  }

  async listCalls(threadId: string, { status, queue, ...options }: Parameters<ThreadStore['listCalls']>[1] = {}) {
    const matches = (call: StoredCall): boolean =>
      (status === undefined || call.status === status) && (queue === undefined || call.queue === queue)
    return part(this.#of(threadId).calls.filter(matches), options)
  }

  async cancelQueued(threadId: string, queue?: string) {
    const calls = this.#of(threadId).calls.filter((call) => call.status === 'queued' && (queue ?? call.queue) === call.queue)
    for (const call of calls) Object.assign(call, { status: 'cancelled', finishedAtMs: Date.now() })
    return structuredClone(calls)
  }

  async lockThread(threadId: string, options: WorkerOptions = {}): Promise<ThreadWorker> {
    const thread = this.#of(threadId)
    await waitForWorker(async () => {
      if (this.#locked.has(threadId)) throw failure('THREAD_LOCKED')
      this.#locked.add(threadId)
    }, options)
    let released = false
    const begin = (call: StoredCall): StoredCall => {
      Object.assign(call, { status: 'running', attempts: call.attempts + 1, startedAtMs: Date.now() })
      return structuredClone(call)
    }
    const checkHeld = (): void => {
      if (released) throw failure('THREAD_LOCKED')
    }
    return {
      interrupted: structuredClone(thread.calls.filter(({ status }) => status === 'running')),
      claim: async (queue = 'root') => {
        checkHeld()
        const next = thread.calls.find((call) => call.status === 'queued' && call.queue === queue)
        return next && begin(next)
      },
      claimCall: async (id) => (checkHeld(), begin(this.#call(thread, id, 'queued'))),
      requeue: async (id) => (
        checkHeld(),
        structuredClone(Object.assign(this.#call(thread, id, 'running'), { status: 'queued' as const }))
      ),
      release: () => {
        if (!released) this.#locked.delete(threadId)
        released = true
      },
    }
  }

  async stageAttachment(threadId: string, attachment: NewAttachment, { signal }: { signal?: AbortSignal | undefined } = {}) {
    const thread = this.#of(threadId)
    const { name, mimeType, data } = attachment
    let { width, height } = attachment
    const isName = /^[^\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]{1,255}$/u.test(name)
    if (!isName || !/^[\w.+-]+\/[\w.+-]+(?:;.*)?$/u.test(mimeType)) throw failure('THREAD_NAME_REFUSED')
    for (const side of [width, height]) if (side !== undefined && !(Number.isInteger(side) && side > 0)) throw failure('INVALID_INPUT')
    const bytes = await bytesOf(data, signal)
    // Of images, a GIF is the shortest to read.
    if (width === undefined && height === undefined && bytes.toString('latin1', 0, 4) === 'GIF8')
      [width, height] = [bytes.readUInt16LE(6), bytes.readUInt16LE(8)]
    const id = randomUUID()
    const last = /\.([a-z0-9]{1,10})$/u.exec(name.toLowerCase())?.[1] ?? 'bin'
    const path = `/attachments/${Date.now()}-${id.slice(0, 8)}.${images[mimeType] ?? last}`
    const ref: AttachmentRef = { id, type: 'file', path, name, mimeType, size: bytes.length }
    Object.assign(ref, width !== undefined && { width }, height !== undefined && { height })
    thread.staged.set(path, { ref, bytes })
    return { ...ref }
  }

  async discardStaged(threadId: string, paths: readonly string[]) {
    for (const path of paths) this.#of(threadId).staged.delete(path)
  }

  #file(threadId: string, path: string) {
    const { files } = this.#of(threadId)
    if (!/^\/attachments\/[\w-][\w.-]*$/u.test(path)) throw failure('THREAD_NAME_REFUSED')
    return files.get(path)
  }

  async getAttachment(threadId: string, path: string) {
    return structuredClone(this.#file(threadId, path)?.ref)
  }

  async listAttachments(threadId: string) {
    return structuredClone([...this.#of(threadId).files.values()].map(({ ref }) => ref))
  }

  async readAttachment(threadId: string, path: string, { start, end }: ReadRange = {}) {
    const file = this.#file(threadId, path)
    if (file === undefined) throw failure('THREAD_ATTACHMENT_NOT_FOUND')
    return new Uint8Array(file.bytes.subarray(start, Math.max(start ?? 0, end ?? Infinity)))
  }

  async deleteAttachment(threadId: string, path: string) {
    return this.#file(threadId, path) !== undefined && this.#of(threadId).files.delete(path)
  }

  async exportAttachment(threadId: string, path: string, directory: string) {
    const file = resolve(directory, basename(path))
    await writeFile(file, await this.readAttachment(threadId, path))
    return file
  }

  async close() {
    this.#closed = true
  }
}

async function bytesOf(data: NewAttachment['data'], signal: AbortSignal | undefined): Promise<Buffer> {
  signal?.throwIfAborted()
  if (typeof data === 'string') {
    const bytes = Buffer.from(data, 'base64')
    if (bytes.toString('base64') !== data) throw failure('THREAD_ENCODING_INVALID')
    return bytes
  }
  if (data instanceof Uint8Array) return Buffer.from(data)
  const parts: Uint8Array[] = []
  for await (const one of data) {
    signal?.throwIfAborted()
    parts.push(Uint8Array.from(one))
  }
  return Buffer.concat(parts)
}
