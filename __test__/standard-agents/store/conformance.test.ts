import { join } from 'node:path'
import { makeSandbox } from '../../support/sandbox.ts'
import { threadStoreConformance } from './conformance.ts'
import { ReferenceStore } from './reference-store.ts'
import { openThreadStore } from './stores.ts'

threadStoreConformance('a file', async () => openThreadStore(`file:${join(makeSandbox().root, 'thread.db')}`))
threadStoreConformance('a file that survives a loss of power', async () =>
  openThreadStore(join(makeSandbox().root, 'thread.db'), { synchronous: 'full' }),
)
threadStoreConformance('memory', async () => openThreadStore('memory:'))
threadStoreConformance('the reference', async () => new ReferenceStore())
