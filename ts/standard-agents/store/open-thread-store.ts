import { setTimeout as pause } from 'node:timers/promises'
import type { NativeThreadStore } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import { openNativeThreads, unwrap } from '../../core/native.js'
import { abortSignal, boolean, type Checks, invalid, oneOf, optional, parseOptions, positive } from '../../core/options.js'
import { parseRow, parseRows } from '../../core/parse-rows.js'
import { attachmentParts } from './attachment-bytes.js'
import {
  attachmentFields,
  checkBytes,
  checkCallPart,
  checkChanges,
  checkEntries,
  checkPart,
  checkRange,
  keyList,
  notNegative,
  storedText,
  threadError,
} from './store-checks.js'
import type { AttachmentRef, StoredCall, StoredThread, ThreadStore, ThreadWorker, WorkerOptions } from './thread-store.js'

/** How a thread store is opened. */
export interface OpenThreadStoreOptions {
  /**
   * What survives once a promise settles: `normal` the end of every process, `full` also a loss of power, at the
   * price of waiting for the disk each time. @default 'normal'
   */
  synchronous?: 'normal' | 'full' | undefined
  /** Whether the store is read only. @default false */
  readOnly?: boolean | undefined
  /** How long a call waits for other processes that write, in milliseconds. @default 10000 */
  busyTimeoutMs?: number | undefined
  /** The maximum size of an attachment, in bytes. @default 268435456 (256 MiB) */
  maxAttachmentBytes?: number | undefined
  /** The maximum size of a value, arguments, a result or a message, as text, in bytes. @default 67108864 (64 MiB) */
  maxTextBytes?: number | undefined
}

const openChecks = {
  synchronous: optional(oneOf('normal', 'full'), 'normal'),
  readOnly: optional(boolean, false),
  busyTimeoutMs: optional(positive(), 10_000),
  maxAttachmentBytes: optional(positive(), 268_435_456),
  maxTextBytes: optional(positive(), 67_108_864),
} satisfies Checks<OpenThreadStoreOptions>

/** @throws {ToolError} INVALID_INPUT */
export const parseOpenOptions = (options: OpenThreadStoreOptions) => parseOptions('openThreadStore', options, openChecks)

/** A store in a file, or in memory. */
export async function openThreadStore(location: string | URL, options: OpenThreadStoreOptions = {}): Promise<ThreadStore> {
  const { synchronous, readOnly, busyTimeoutMs, maxAttachmentBytes, maxTextBytes } = parseOpenOptions(options)
  if (typeof location !== 'string' && !(location instanceof URL)) throw invalid('A thread store is opened by a path or by memory:.')
  const { native, path } = await openNativeThreads(String(location), {
    full: synchronous === 'full',
    readOnly,
    busyTimeoutMs,
    attachmentLimitBytes: maxAttachmentBytes,
    textLimitBytes: maxTextBytes,
  })
  return nativeThreads(native, path)
}

const id = (threadId: string): string => storedText(threadId, 'thread id')
const path = (text: string): string => storedText(text, 'attachment path')
const call = (callId: string): string => storedText(callId, 'call id')
const threadChecks = { threadId: storedText, flowId: storedText }
const workerChecks = { waitMs: optional(notNegative, 30_000), signal: abortSignal } satisfies Checks<WorkerOptions>

/** The store of the addon: SQLite in a file, which several processes may share, or in memory. */
function nativeThreads(native: NativeThreadStore, realPath: string): ThreadStore {
  return {
    path: realPath,
    async openThread(thread) {
      const { threadId, flowId } = parseOptions('store.openThread', thread, threadChecks)
      return JSON.parse(unwrap(await native.openThread(threadId, flowId))) as StoredThread
    },
    getThread: async (threadId) => parseRow(unwrap(await native.getThread(id(threadId)))),
    listThreads: async () => parseRows(unwrap(await native.listThreads())),
    deleteThread: async (threadId) => unwrap(await native.deleteThread(id(threadId))),

    readValues: async (threadId, keys) => parseRows(unwrap(await native.readValues(id(threadId), keyList(keys, 'keys')))),
    async writeValues(threadId, entries) {
      const [keys, values] = checkEntries(entries)
      unwrap(await native.writeValues(id(threadId), keys, values))
    },
    deleteValues: async (threadId, keys) => unwrap(await native.deleteValues(id(threadId), keyList(keys, 'keys'))),
    deleteAllValues: async (threadId) => unwrap(await native.deleteAllValues(id(threadId))),
    listValues: async (threadId, range) => parseRows(unwrap(await native.listValues(id(threadId), checkRange(range)))),

    async commit(threadId, changes) {
      const { messages, calls } = unwrap(await native.commit(id(threadId), checkChanges(changes)))
      return { messages: await parseRows(messages), calls: await parseRows(calls) }
    },
    listMessages: async (threadId, part = {}) => parseRows(unwrap(await native.listMessages(id(threadId), checkPart(part)))),
    getCall: async (threadId, callId) => parseRow(unwrap(await native.getCall(id(threadId), call(callId)))),
    async listCalls(threadId, options = {}) {
      const { status, queue, part } = checkCallPart(options)
      return parseRows(unwrap(await native.listCalls(id(threadId), status, queue, part)))
    },
    cancelQueued: async (threadId, queue) => parseRows(unwrap(await native.cancelQueued(id(threadId), queue))),

    async lockThread(threadId, options = {}) {
      const thread = id(threadId)
      const { waitMs, signal } = parseOptions('store.lockThread', options, workerChecks)
      const { worker, interrupted } = await waitForWorker(async () => unwrap(await native.lockThread(thread)), { waitMs, signal })
      // The caller gets no worker that it could release.
      if (signal?.aborted === true) native.unlockThread(worker)
      signal?.throwIfAborted()
      return nativeWorker(native, thread, worker, await parseRows(interrupted))
    },

    async stageAttachment(threadId, attachment, options = {}) {
      const { signal } = parseOptions('store.stageAttachment', options, { signal: abortSignal })
      signal?.throwIfAborted()
      const upload = unwrap(await native.beginUpload(id(threadId), attachmentFields(attachment, 'attachment')))
      try {
        for await (const part of attachmentParts(attachment.data, signal)) {
          signal?.throwIfAborted()
          unwrap(await (typeof part === 'string' ? native.appendBase64(upload, part) : native.appendBytes(upload, part)))
        }
        signal?.throwIfAborted()
        return JSON.parse(unwrap(await native.finishUpload(upload))) as AttachmentRef
      } catch (error) {
        await native.dropUpload(upload)
        throw error
      }
    },
    discardStaged: async (threadId, paths) => unwrap(await native.discardStaged(id(threadId), paths.map(path))),
    getAttachment: async (threadId, at) => parseRow(unwrap(await native.getAttachment(id(threadId), path(at)))),
    listAttachments: async (threadId) => parseRows(unwrap(await native.listAttachments(id(threadId)))),
    async readAttachment(threadId, at, range = {}) {
      const { start, end } = checkBytes(range)
      const bytes = unwrap(await native.readAttachment(id(threadId), path(at), start, end))
      return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    },
    deleteAttachment: async (threadId, at) => unwrap(await native.deleteAttachment(id(threadId), path(at))),
    exportAttachment: async (threadId, at, directory) =>
      unwrap(await native.exportAttachment(id(threadId), path(at), storedText(directory, 'directory'))),

    close: async () => unwrap(await native.close()),
  }
}

function nativeWorker(native: NativeThreadStore, threadId: string, worker: number, interrupted: StoredCall[]): ThreadWorker {
  let released = false
  const ownWorker = (): number => {
    if (!released) return worker
    const summary = 'The right to work on the thread was given back'
    throw threadError('THREAD_LOCKED', summary, `\`${threadId}\``, 'Ask for it again.', { threadId })
  }
  return {
    interrupted,
    claim: async (queue = 'root') => parseRow(unwrap(await native.claim(ownWorker(), storedText(queue, 'queue')))),
    claimCall: async (callId) => JSON.parse(unwrap(await native.claimCall(ownWorker(), call(callId)))) as StoredCall,
    requeue: async (callId) => JSON.parse(unwrap(await native.requeue(ownWorker(), call(callId)))) as StoredCall,
    release: () => {
      released = true
      native.unlockThread(worker)
    },
  }
}

/** The longest pause between two attempts to lock a thread. */
const MAX_PAUSE_MS = 50

/**
 * Tries to lock a thread until it is free. There is no notification: the previous worker may be a killed process.
 *
 * @throws {ToolError} THREAD_LOCKED when the time is over, and what `lock` throws.
 * @throws the signal's reason when it is aborted.
 */
export async function waitForWorker<T>(lock: () => Promise<T>, { waitMs = 30_000, signal }: WorkerOptions): Promise<T> {
  const end = performance.now() + waitMs
  for (let round = 0; ; round += 1) {
    signal?.throwIfAborted()
    try {
      return await lock()
    } catch (error) {
      const remainingMs = end - performance.now()
      if (!ToolError.isInstance(error) || error.code !== 'THREAD_LOCKED' || remainingMs <= 0) throw error
      // Random, so that several processes do not try at the same moments.
      const ms = Math.min(2 ** round, MAX_PAUSE_MS) * (0.5 + Math.random() / 2)
      await pause(Math.min(ms, remainingMs), undefined, { signal }).catch(() => signal?.throwIfAborted())
    }
  }
}
