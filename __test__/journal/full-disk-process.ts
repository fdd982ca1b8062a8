// A process whose disk is full: `full-disk-process.ts DIRECTORY fail|continue` prints what happened.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { defineTool, openJournal, runTask, ToolError } from 'toolwright'
import { callOnce } from 'toolwright/durable'
import { z } from 'zod'

const [directory = '', onFailure] = process.argv.slice(2)
const filler = join(directory, 'filler')
const fill = (): void => {
  for (const size of [65_536, 4_096, 512, 1]) {
    try {
      for (;;) writeFileSync(filler, Buffer.alloc(size), { flag: 'a' })
    } catch {
      // Not that much room any more.
    }
  }
}
const journal = await openJournal(join(directory, 'runs.db'), { onFailure: onFailure as 'fail' | 'continue' })
const ran: string[] = []
const act = defineTool({
  name: 'act',
  schema: z.object({ what: z.string() }),
  sideEffect: true,
  execute: ({ what }, _ctx) => {
    ran.push(what)
    if (what.startsWith('fills')) fill()
    if (what === 'fills and fails') throw new RangeError('its own error')
    // More than what is left in the journal's last page.
    return `${what} ${'x'.repeat(20_000)}`
  },
})
const look = defineTool({ name: 'look', schema: z.object({}), execute: () => 'x'.repeat(20_000) })
const outcome = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    (value) => String(value).split(' x')[0]?.slice(0, 20) ?? '',
    (error: unknown) => (ToolError.isInstance(error) ? error.code : String(error)),
  )
const outcomes: string[] = []
await runTask({ journal, runId: 'run', nodeId: 'node' }, async () => {
  outcomes.push(await outcome(act.execute({ what: 'before' })))
  outcomes.push(await outcome(act.execute({ what: 'fills' })))
  outcomes.push(await outcome(act.execute({ what: 'full' })))
  outcomes.push(await outcome(look.execute({})))
  rmSync(filler)
  outcomes.push(await outcome(act.execute({ what: 'fills and fails' })))
  rmSync(filler)
  outcomes.push(await outcome(act.execute({ what: 'after' })))
})
// A call by its id: whoever executes it again while the disk is full, and when it is not, gets its result.
const once = { runId: 'once', callId: 'call', tool: act, input: { what: 'fills' } }
outcomes.push(await outcome(callOnce(journal, once)), await outcome(callOnce(journal, once)))
rmSync(filler)
/** Outcomes that could not be recorded are written when there is room. */
const written = async (runId: string) => {
  for (let tries = 0; ; tries += 1) {
    const listed = await journal.listRun(runId)
    if (tries === 100 || listed.every(({ status }) => status !== 'started'))
      return listed.map(({ toolName, status }) => `${toolName} ${status}`)
    await pause(100)
  }
}
const rows = [...(await written('run')), ...(await written('once'))]
const other = await openJournal(join(directory, 'runs.db'))
outcomes.push(await outcome(callOnce(other, once)))
await other.close()
console.log(JSON.stringify({ outcomes, ran, rows }))
await journal.close()
