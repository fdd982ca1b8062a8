import assert from 'node:assert/strict'
import { codeOf, type TestRunner } from '../../journal/testing/runner.js'
import type { NewAttachment, NewQueuedCall, ThreadStore } from '../store/thread-store.js'

/** The store of threads that is tested. */
export interface ThreadSubject {
  /** The name in the titles of the tests. */
  name: string
  /** Opens an empty store. */
  open(): Promise<ThreadStore>
  /**
   * Opens one empty store twice, as two processes would. Without it, what concerns two of them is not tested.
   * @default none
   */
  openTwo?: (() => Promise<readonly [ThreadStore, ThreadStore]>) | undefined
}

export const call = (id: string, more: Partial<NewQueuedCall> = {}): NewQueuedCall => ({ id, name: 'tool', argumentsJson: '{}', ...more })
export const message = (id: string) => ({ id, role: 'tool', bodyJson: `{"id":"${id}"}` })
export const bytes = Buffer.from('bytes of a file')
export const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)

export const file = (more: Partial<NewAttachment> = {}): NewAttachment => ({
  name: 'a.txt',
  mimeType: 'application/octet-stream',
  data: bytes.toString('base64'),
  ...more,
})

/** Checks that an act fails with this code. */
export async function refuses(code: string, act: () => unknown): Promise<void> {
  assert.equal(await codeOf(act), code)
}

/** Defines a test on a store with the thread `t`. */
export type WithStore = (name: string, run: (store: ThreadStore) => Promise<void>) => void

export const withStore =
  ({ test }: TestRunner, open: () => Promise<ThreadStore>): WithStore =>
  (name, run) =>
    void test(name, async () => {
      const store = await open()
      try {
        await store.openThread({ threadId: 't', flowId: 'f' })
        await run(store)
      } finally {
        await store.close()
      }
    })
