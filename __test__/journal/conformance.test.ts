import { join } from 'node:path'
import { type Journal, openJournal } from 'toolwright'
import { journalSuite } from 'toolwright/journal/testing'
import { describe, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { ReferenceStore } from './reference-store.ts'

const file = (): string => join(makeSandbox().root, 'runs.db')
const twice = async (open: () => Promise<Journal>): Promise<[Journal, Journal]> => [await open(), await open()]
const suite = (name: string, open: (path: string) => Promise<Journal>, isShared: boolean): void =>
  journalSuite(
    { describe, test },
    {
      name,
      open: () => open(file()),
      openTwo: isShared
        ? () => {
            const path = file()
            return twice(() => open(path))
          }
        : undefined,
    },
  )

suite('a file', (path) => openJournal(`file:${path}`), true)
suite('a file that survives a loss of power', (path) => openJournal(path, { synchronous: 'full' }), true)
suite('memory', () => openJournal('memory:'), false)
suite('the reference', () => openJournal(new ReferenceStore()), false)
