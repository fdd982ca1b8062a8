// A process that works on a thread: `thread-process.ts FILE THREAD error|retry [CALLS]`. It makes CALLS calls
// of its own, and then what is left in the queue; each step is printed, and in a file beside the
// thread's.
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createThread, defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'

const [file = '', threadId = '', onInterrupted, calls = '0'] = process.argv.slice(2)
const args = z.object({ n: z.number() })
const log = (what: string): void => {
  appendFileSync(`${file}.log`, `${what}\n`)
  console.log(what)
}
const tools = {
  step: defineTool({
    description: 'a step',
    args,
    execute: async (state, { n }) => {
      log(`step ${n}`)
      await state.storage.put(`step-${n}`, n)
      await sleep(3)
      return { status: 'success', result: `did ${n}`, attachments: [{ name: `${n}.txt`, mimeType: 'text/plain', data: btoa(String(n)) }] }
    },
  }),
  call: defineTool({
    description: 'a call',
    args,
    execute: async (_state, { n }) => {
      log(`enter ${process.pid} ${n}`)
      await sleep(1)
      log(`leave ${process.pid} ${n}`)
      return { status: 'success', result: `${process.pid} ${n}` }
    },
  }),
}
const thread = await createThread({ tools, store: `file:${file}`, threadId, onInterrupted: onInterrupted as 'error' })
await Promise.all(Array.from({ length: Number(calls) }, (_, n) => thread.call('call', { n })))
await thread.flush()
await thread.close()
log('done')
