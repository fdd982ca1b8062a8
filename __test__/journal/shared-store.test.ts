import { join } from 'node:path'
import { openJournal } from 'toolwright'
import { describe, test } from 'vitest'
import { sharedStoreCases } from '../../ts/journal/testing/shared-store.ts'
import { makeSandbox } from '../support/sandbox.ts'

describe('two journals on one file', () =>
  sharedStoreCases({ describe, test }, async () => {
    const file = join(makeSandbox().root, 'runs.db')
    return [await openJournal(file), await openJournal(file)]
  }))
