import { join } from 'node:path'
import { openJournal } from 'toolwright'
import { makeSandbox } from '../support/sandbox.ts'
import { journalConformance } from './conformance.ts'
import { ReferenceStore } from './reference-store.ts'

journalConformance('a file', async () => openJournal(`file:${join(makeSandbox().root, 'runs.db')}`))
journalConformance('a file that survives a loss of power', async () =>
  openJournal(join(makeSandbox().root, 'runs.db'), { synchronous: 'full' }),
)
journalConformance('memory', async () => openJournal('memory:'))
journalConformance('the reference', async () => openJournal(new ReferenceStore()))
