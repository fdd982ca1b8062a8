import { describe, expect, test } from 'vitest'
import { runWithDescriptors } from '../../support/few-descriptors.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, openScene, testTool } from '../scene.ts'

const entry = new URL('../../../dist/contract.js', import.meta.url).href

describe('2,000 calls at once in a process of 300 descriptors', () => {
  const program = `
    import { createSession } from ${JSON.stringify(entry)}
    const permissions = ${JSON.stringify(allowAll)}
    const session = await createSession({ workspace: process.argv.at(-1), manifest: { name: 'many', permissions }, skills: { project: false, home: false } })
    const all = Array.from({ length: 2_000 }, (_, n) =>
      n % 4 === 0 ? session.call('write', { path: 'w' + (n % 50), content: 'x' }) : n % 4 === 1 ? session.call('grep', { pattern: 'a', path: 'file' }) : session.call('read', { path: 'file', offset: n % 2 }))
    const codes = {}
    for (const { metadata, error_text } of await Promise.all(all)) {
      const outcome = metadata.code === 'ok' ? 'ok' : error_text
      codes[outcome] = (codes[outcome] ?? 0) + 1
    }
    await session.close()
    console.log(JSON.stringify(codes))
  `

  test('wait for each other, and none fails', async () => {
    const fixture = makeSandbox()
    fixture.put('file', 'aé\n'.repeat(100))
    expect(await runWithDescriptors(300, program, fixture)).toEqual({ ok: 2_000 })
  }, 60_000)
})

test('a process without any descriptor left is told so, in bounded time', async () => {
  const program = `
    import { closeSync, openSync } from 'node:fs'
    import { createSession } from ${JSON.stringify(entry)}
    const session = await createSession({ workspace: process.argv.at(-1), manifest: { name: 'none', permissions: ${JSON.stringify(allowAll)} }, skills: { project: false, home: false } })
    await session.call('read', { path: 'file' })
    const taken = []
    try { for (;;) taken.push(openSync('/dev/null')) } catch {}
    const failed = await session.call('read', { path: 'file', offset: 1 })
    // Given back while a call waits for it.
    const waiting = session.call('read', { path: 'file' })
    setTimeout(() => { for (const fd of taken) closeSync(fd) }, 100)
    const read = await waiting
    console.log(JSON.stringify([failed.metadata.code, failed.error_text, read.metadata.code]))
    process.exit(0)
  `
  const fixture = makeSandbox()
  fixture.put('file', 'text')
  expect(await runWithDescriptors(100, program, fixture)).toEqual([
    'io_failed',
    expect.stringMatching(/EMFILE.*fewer calls at once/u),
    'ok',
  ])
}, 30_000)

test('calls that wait for a person hold no others up', async () => {
  let answer: () => void = () => undefined
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const { call, put } = await openScene({
    manifest: { name: 'test', permissions: [...allowAll, { permission: 'write', pattern: '**', action: 'ask' }] },
    host: { prompt: () => answered.then(() => ({ decision: 'reject_once' })) },
  })
  put('file', 'text')
  const waiting = Array.from({ length: 200 }, (_, n) => call('write', { path: `f${n}`, content: 'x' }))
  expect(dataOf(await call('read', { path: 'file' })).content).toBe('text')
  answer()
  expect(new Set((await Promise.all(waiting)).map((envelope) => failureOf(envelope).code))).toEqual(new Set(['permission_rejected']))
})

test('what a tool of somebody else does not wait for ends with its call, and not with the host', async () => {
  const unhandled: unknown[] = []
  const collect = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', collect)
  const requires = { fs: { read: ['{workspace}/**'] } }
  const tool = testTool(
    'hasty',
    (_args, { fs, session }) => {
      void fs.read('file')
      void fs.read('missing')
      void fs.grep('x')
      void session.ask([{ question: 'Why?' }])
      void session.task({ subagent_type: 'nobody', prompt: 'x' })
      return 'done'
    },
    { requires },
  )
  const { call, put, session } = await openScene({ tools: [tool] })
  put('file', 'text')
  expect(dataOf(await call('hasty', {}))).toBe('done')
  await session.close()
  await new Promise((resolve) => {
    setTimeout(resolve, 200)
  })
  process.off('unhandledRejection', collect)
  expect(unhandled).toEqual([])
})
