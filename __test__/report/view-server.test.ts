import { request } from 'node:http'
import { type Journal, openJournal } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ReportCall } from '../../ts/report/report-data.ts'
import { startViewServer } from '../../ts/report/view-server.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { START, writeRun } from './recorded-run.ts'

async function startViewer(calls: number) {
  const path = `${makeSandbox().root}/runs.db`
  await writeRun(path, { calls })
  const journal = await openJournal(`file:${path}`, { readOnly: true })
  const server = await startViewServer(journal, { source: 'runs.db' })
  onTestFinished(async () => {
    await server.close()
    await journal.close()
  })
  return { path, ...server }
}

interface Answer {
  status: number
  body: string
  headers: NodeJS.Dict<string | string[]>
}

/** A request with any headers, which `fetch` does not send. */
const ask = (url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { headers, method }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => (body += text))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }))
    })
    asked.on('error', reject).end()
  })

/** The calls that a page has been sent so far. */
function follow(url: string): { calls: Map<number, ReportCall>; end(): void } {
  const calls = new Map<number, ReportCall>()
  const asked = request(`${url}events`, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (part: string) => {
      text += part
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        if (!event.startsWith('data: ')) continue
        for (const call of (JSON.parse(event.slice('data: '.length)) as { calls: ReportCall[] }).calls) calls.set(call.row, call)
      }
    })
    response.on('error', () => undefined)
  })
  asked.on('error', () => undefined).end()
  return { calls, end: () => asked.destroy() }
}

describe('the viewer', () => {
  test('answers nobody without its secret, under another name, or with another method', async () => {
    const { url } = await startViewer(1)
    const { origin, port } = new URL(url)
    const wrong = url.replace(/\/[^/]+\/$/u, `/${'x'.repeat(32)}/`)
    expect((await ask(`${origin}/`)).status).toBe(404)
    expect((await ask(wrong)).status).toBe(404)
    expect((await ask(`${wrong}events`)).status).toBe(404)
    expect((await ask(url, { host: 'evil.example' })).status).toBe(421)
    expect((await ask(url, { host: `evil.example:${port}` })).status).toBe(421)
    expect((await ask(url, {}, 'POST')).status).toBe(405)
    expect((await ask(`${url}../etc/passwd`)).status).toBe(404)
    expect((await ask(`${url}calls/999999`)).status).toBe(404)
    expect((await ask(`${url}calls/1e1`)).status).toBe(404)
    const page = await ask(url, { host: `localhost:${port}` })
    expect(page.status).toBe(200)
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; .*connect-src 'self'$/u)
    expect(page.headers['access-control-allow-origin']).toBeUndefined()
  })

  test('sends the calls so far, and then those that are recorded', async () => {
    const { url, path } = await startViewer(600)
    const { calls, end } = follow(url)
    onTestFinished(end)
    await expect.poll(() => calls.size, { timeout: 10_000 }).toBe(600)
    const writer = await openJournal(`file:${path}`)
    onTestFinished(() => writer.close())
    const place = { runId: 'run-2', nodeId: 'late', attempt: 1, seq: 1, toolName: 'bash', sideEffect: true, startedAtMs: START } as const
    const ref = await writer.insertToolCall({ ...place, inputJson: '{"command":"make"}' })
    await expect
      .poll(() => [...calls.values()].at(-1), { timeout: 10_000 })
      .toMatchObject({ nodeId: 'late', ending: 'started', target: 'make' })
    await writer.updateToolCall(ref, { status: 'success', outputJson: '"made"' })
    await expect.poll(() => [...calls.values()].at(-1), { timeout: 10_000 }).toMatchObject({ nodeId: 'late', ending: 'success' })
    const row = [...calls.keys()].at(-1)
    expect(JSON.parse((await ask(`${url}calls/${row}`)).body)).toMatchObject({ output: { text: 'made' } })
  })

  test('says why it cannot go on, after the calls that it has read', async () => {
    const path = `${makeSandbox().root}/runs.db`
    await writeRun(path, { calls: 2 })
    await using journal = await openJournal(`file:${path}`, { readOnly: true })
    const failing: Journal = Object.assign(Object.create(journal) as Journal, {
      async *tail() {
        yield* await journal.readRows(0, 2)
        throw new Error('the file is gone')
      },
    })
    const server = await startViewServer(failing, { source: 'runs.db' })
    onTestFinished(() => server.close())
    const { body } = await ask(`${server.url}events`)
    expect(body).toMatch(
      /^event: source\n[^]*\ndata: \{"calls":\[\{[^]*event: failure\ndata: \{"message":"Error: the file is gone"\}\n\n$/u,
    )
    // It still answers.
    expect((await ask(server.url)).status).toBe(200)
  })

  test('ends while a page is open', async () => {
    const path = `${makeSandbox().root}/runs.db`
    await writeRun(path, { calls: 3 })
    await using journal = await openJournal(`file:${path}`, { readOnly: true })
    const server = await startViewServer(journal, { source: 'runs.db' })
    const { calls } = follow(server.url)
    await expect.poll(() => calls.size, { timeout: 10_000 }).toBe(3)
    await server.close()
    await expect(ask(server.url)).rejects.toThrow()
  })
})
