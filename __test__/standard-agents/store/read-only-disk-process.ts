// A process whose disk is read-only: `read-only-disk-process.ts DIRECTORY` prints what happened to a store of
// threads and a journal there.
import { join } from 'node:path'
import { openJournal } from 'toolwright'
import { openThreadStore, ToolError } from './stores.ts'

const [directory = ''] = process.argv.slice(2)
const code = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'done',
    (error: unknown) => (ToolError.isInstance(error) ? error.code : String(error)),
  )
const outcomes: string[] = []
for (const name of ['thread.db', 'new.db']) outcomes.push(await code(openThreadStore(join(directory, name))))
for (const name of ['runs.db', 'new.db']) outcomes.push(await code(openJournal(join(directory, name))))
const store = await openThreadStore(join(directory, 'thread.db'), { readOnly: true })
const journal = await openJournal(join(directory, 'runs.db'), { readOnly: true })
const rows = [(await store.listThreads()).length, (await journal.listRuns()).length]
await store.close()
await journal.close()
console.log(JSON.stringify({ outcomes, rows }))
