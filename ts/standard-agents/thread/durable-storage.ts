import { ToolError } from '../../core/errors.js'
import { threadStorage } from '../store/thread-storage.js'
import type { ThreadStore } from '../store/thread-store.js'
import type { DurableObjectStorage } from './thread-state.js'

/** What a Durable Object's storage has besides, and a local thread has not. */
const unsupported = [
  'transaction',
  'transactionSync',
  'getAlarm',
  'setAlarm',
  'deleteAlarm',
  'sync',
  'getCurrentBookmark',
  'getBookmarkForTime',
  'onNextSessionRestoreBookmark',
] as const

/**
 * The storage of a thread as its tools see it. What cannot be had locally says so when it is used, in place
 * of seeming to work.
 */
export function durableStorage(store: ThreadStore, threadId: string): DurableObjectStorage {
  const storage = threadStorage(store, threadId)
  for (const name of unsupported) {
    const refuse = (): never => {
      throw notSupported(`state.storage.${name}()`)
    }
    Object.defineProperty(storage, name, { value: refuse })
  }
  for (const name of ['sql', 'kv']) {
    Object.defineProperty(storage, name, {
      get: () => {
        throw notSupported(`state.storage.${name}`)
      },
    })
  }
  return storage as DurableObjectStorage
}

function notSupported(what: string): ToolError {
  return new ToolError({
    code: 'INVALID_INPUT',
    summary: `${what} is not supported locally`,
    hint: 'Use get, put, delete, list and deleteAll; each is one transaction.',
  })
}
