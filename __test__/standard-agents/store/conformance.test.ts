// R16 R29 R30 R33 R36: what these say of a store are cases of the suite.
import { join } from 'node:path'
import { threadSuite } from 'toolwright/standard-agents/testing'
import { describe, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { ReferenceStore } from './reference-store.ts'
import { openThreadStore, type ThreadStore } from './stores.ts'

const file = (): string => join(makeSandbox().root, 'thread.db')
const twice = (open: (path: string) => Promise<ThreadStore>) => async (): Promise<[ThreadStore, ThreadStore]> => {
  const path = file()
  return [await open(path), await open(path)]
}
const suite = (name: string, open: (path: string) => Promise<ThreadStore>, isShared: boolean): void =>
  threadSuite({ describe, test }, { name, open: () => open(file()), openTwo: isShared ? twice(open) : undefined })

suite('a file', (path) => openThreadStore(`file:${path}`), true)
suite('a file that survives a loss of power', (path) => openThreadStore(path, { synchronous: 'full' }), true)
suite('memory', () => openThreadStore('memory:'), false)
suite('the reference', async () => new ReferenceStore(), false)
