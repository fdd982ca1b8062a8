import fc from 'fast-check'
import { openJournal } from 'toolwright'
import { expect, onTestFinished, test } from 'vitest'
import { startViewServer } from '../../ts/report/view-server.ts'
import { runs, seed } from '../support/randomised.ts'
import { rawRequests, sendRaw } from '../support/raw-requests.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { writeRun } from './recorded-run.ts'

test('no request ends the viewer, or has it fail', { timeout: 60_000 }, async () => {
  const path = `${makeSandbox().root}/runs.db`
  await writeRun(path, { calls: 3 })
  const journal = await openJournal(`file:${path}`, { readOnly: true })
  const server = await startViewServer(journal, { source: 'runs.db' })
  onTestFinished(async () => {
    await server.close()
    await journal.close()
  })
  const { port: text, pathname } = new URL(server.url)
  const port = Number(text)
  const targets = ['', 'events', 'calls/1', 'calls/999999999999999', 'calls/-1', 'calls/1/2', '../'].map((name) => `${pathname}${name}`)
  const requests = rawRequests({ port, targets, headers: [], bodies: [''] })
  const law = fc.asyncProperty(fc.array(fc.tuple(requests, fc.boolean()), { minLength: 20, maxLength: 20 }), async (batch) => {
    const answers = await Promise.all(batch.map(([request, breakOff]) => sendRaw(port, request, { breakOff })))
    expect(batch.filter((_, index) => answers[index]?.some((status) => status >= 500 && status !== 501 && status !== 505))).toEqual([])
    expect(await sendRaw(port, `GET ${pathname}calls/1 HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)).toEqual([200])
  })
  await fc.assert(law, { seed, numRuns: runs(12), endOnFailure: true })
})
