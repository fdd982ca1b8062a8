import { join } from 'node:path'
import { openJournal, type Journal, type ToolCallRow } from 'toolwright'
import { replaySession, type SessionOptions } from 'toolwright/contract'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startScript } from '../../support/child-script.ts'
import { queryDatabase } from '../../support/query-database.ts'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'
import { step, until } from '../mcp/servers.ts'
import { allowAll, dataOf, failureOf, openScene, openSession } from '../scene.ts'

const host = join(import.meta.dirname, 'background-host.ts')
const agents = ['hangs', 'finishes', 'fails'].map((name) => ({ name }))
const spawn: NonNullable<SessionOptions['host']>['spawn'] = async ({ agent: { name } }) => {
  if (name === 'hangs') await new Promise(() => undefined)
  if (name === 'fails') throw new Error('no luck')
  return 'The answer.'
}
const options = (journal: Journal): Partial<SessionOptions> => ({
  id: 'again',
  manifest: { name: 'root', permissions: allowAll, agents },
  host: { spawn },
  journal,
})
const task = (subagent_type: string) => ({ subagent_type, prompt: 'x', background: true })

async function journalOf(location = 'memory:'): Promise<Journal> {
  const journal = await openJournal(location)
  onTestFinished(() => journal.close())
  return journal
}

/** A journal that does something else before it records a task in the background. */
const whenTaskBegins = (journal: Journal, before: () => Promise<void>): Journal =>
  new Proxy(journal, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown
      if (name !== 'insertToolCall') return typeof value === 'function' ? value.bind(target) : value
      return async (row: Parameters<Journal['insertToolCall']>[0]) => {
        if (row.nodeId === 'contract/background') await before()
        return target.insertToolCall(row)
      }
    },
  })

/** Opens the session and takes its first step; gives what the parent is told in it. */
async function opened(fixture: Sandbox, journal: Journal, id: string) {
  const session = await openSession(fixture, { ...options(journal), id })
  const { messages = [] } = await session.prepareStep(step)
  return { session, messages, told: messages.map(({ role, content }) => `${role}: ${String(content)}`) }
}

/** A host that has been killed while a task hung in the background. */
async function killedHost() {
  const fixture = makeSandbox()
  const file = fixture.at('runs.db')
  const { child, ended, printed } = startScript(host, [fixture.root, file])
  await printed('ready')
  return {
    fixture,
    file,
    kill: async () => {
      child.kill('SIGKILL')
      expect((await ended).signal).toBe('SIGKILL')
    },
  }
}

describe('a host that is started again', () => {
  test('R54 after a restart the parent is told once of the task that was killed, and the true result of those that had ended', async () => {
    const { fixture, file, kill } = await killedHost()
    await kill()
    const journal = await journalOf(`file:${file}`)
    const first = await opened(fixture, journal, 'restarted')
    expect(first.told).toHaveLength(3)
    expect(first.told[0]).toMatch(
      /^assistant: The background task of hangs \(session restarted\/2-hangs\) has failed: its process ended before/u,
    )
    expect(first.told[1]).toBe(
      'assistant: The background task of finishes (session restarted/3-finishes) has finished:\n\nWhat finishes gave.',
    )
    expect(first.told[2]).toMatch(/fails .* has failed: .*no luck/u)
    // A host that keeps the messages is told nothing twice, and one that does not keeps seeing them.
    expect((await first.session.prepareStep({ messages: first.messages })).messages).toBeUndefined()
    expect((await first.session.prepareStep(step)).messages).toEqual(first.messages)
    await first.session.close()
    expect((await opened(fixture, journal, 'restarted')).told).toEqual([])
    // Nothing was run again, and the calls of the session replay as before.
    const calls = []
    for await (const { tool, envelope } of await replaySession(journal, 'restarted')) calls.push(`${tool} ${envelope.type}`)
    expect(calls).toEqual(Array(4).fill('task output'))
  })

  test('R54 a restart while the first host is still there does not say that its task has failed', async () => {
    const { fixture, file, kill } = await killedHost()
    const journal = await journalOf(`file:${file}`)
    const beside = await opened(fixture, journal, 'restarted')
    expect(beside.told.join()).not.toContain('hangs')
    await beside.session.close()
    await kill()
    expect((await opened(fixture, journal, 'restarted')).told).toEqual([expect.stringMatching(/hangs .* has failed/u)])
  })

  test('R54 a task of another machine is given up when it has taken longer than a task may, also in the middle of the session', async () => {
    const { fixture, file, kill } = await killedHost()
    await kill()
    // As a container that was moved: what ran on the other machine cannot be looked at from here.
    await queryDatabase(file, "UPDATE _toolwright_owners SET machine = 'another', boot = 'another', pid_namespace = 'another'")
    const journal = await journalOf(`file:${file}`)
    const first = await opened(fixture, journal, 'restarted')
    expect(first.told.join()).not.toContain('hangs')
    const now = Date.now()
    onTestFinished(() => void vi.restoreAllMocks())
    vi.spyOn(Date, 'now').mockImplementation(() => now + 3_600_000 + 120_000)
    const { messages = [] } = await first.session.prepareStep({ messages: first.messages })
    const last = String(messages.at(-1)?.content)
    expect(last).toMatch(/^The background task of hangs \(session restarted\/2-hangs\) has failed: it was handed out on another machine/u)
    // Once, in this opening and in every later one.
    expect((await first.session.prepareStep({ messages })).messages).toBeUndefined()
    await first.session.close()
    expect((await opened(fixture, journal, 'restarted')).told).toEqual([])
  })

  test('R54 a task of another machine that has ended meanwhile is told of with its own end, however late', async () => {
    const { fixture, file, kill } = await killedHost()
    await kill()
    await queryDatabase(file, "UPDATE _toolwright_owners SET machine = 'another', boot = 'another', pid_namespace = 'another'")
    const journal = await journalOf(`file:${file}`)
    const { session, messages } = await opened(fixture, journal, 'restarted')
    const row = (await journal.listToolCalls('restarted', 'contract/background', 0)).find(({ status }) => status === 'started')
    await journal.updateToolCall(row as ToolCallRow, { status: 'success', outputJson: '{"output":"Done elsewhere."}' })
    const now = Date.now()
    onTestFinished(() => void vi.restoreAllMocks())
    vi.spyOn(Date, 'now').mockImplementation(() => now + 3_600_000 + 120_000)
    const { messages: later = [] } = await session.prepareStep({ messages })
    expect(String(later.at(-1)?.content)).toBe('The background task of hangs (session restarted/2-hangs) has finished:\n\nDone elsewhere.')
  })

  test('R54 a restart after a kill in the very step that had the message tells it again, in the same words', async () => {
    const { fixture, file, kill } = await killedHost()
    await kill()
    const journal = await journalOf(`file:${file}`)
    // Neither a next step nor a close: to the journal this is a host that dies here.
    const killed = await opened(fixture, journal, 'restarted')
    const { told, session, messages } = await opened(fixture, journal, 'restarted')
    expect(told).toEqual(killed.told)
    // Who has kept what the killed step had is not told again.
    expect((await session.prepareStep({ messages })).messages).toBeUndefined()
  })

  test('R54 a task that a closed session has stopped is a failure for the restarted one', async () => {
    const journal = await journalOf()
    const { session, call, ...fixture } = await openScene(options(journal))
    dataOf(await call('task', task('hangs')))
    await session.close()
    expect((await opened(fixture, journal, 'again')).told).toEqual([expect.stringMatching(/hangs .* has failed: .*aborted by the parent/u)])
  })

  test('R54 a task that was just beginning when the session was closed is one, too', async () => {
    const journal = await journalOf()
    let closing: Promise<void> | undefined
    const slow = whenTaskBegins(journal, async () => {
      closing = session.close()
      await new Promise((resolve) => setTimeout(resolve, 100))
    })
    const { session, call, ...fixture } = await openScene(options(slow))
    await call('task', task('hangs'))
    await closing
    expect((await journal.listToolCalls('again', 'contract/background', 0)).map(({ status }) => status)).toEqual(['error'])
    expect((await opened(fixture, journal, 'again')).told).toEqual([expect.stringMatching(/hangs .* has failed/u)])
  })

  test('R54 over any number of restarts every task is told of once, with its own end', async () => {
    const fixture = makeSandbox()
    const names = fc.array(fc.constantFrom('hangs', 'finishes', 'fails'), { maxLength: 3 })
    const openings = fc.array(fc.record({ begun: names, steps: fc.nat(2) }), { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(openings, async (all) => {
        const journal = await openJournal('memory:')
        const [given, told]: [string[], string[]] = [[], []]
        try {
          for (const { begun, steps } of [...all, { begun: [], steps: 1 }]) {
            const session = await openSession(fixture, options(journal))
            for (const name of begun) given.push(`${name} ${dataOf(await session.call('task', task(name))).session_id}`)
            const ends = begun.filter((name) => name !== 'hangs').length
            const isEnded = async () =>
              (await journal.listRun('again')).filter(
                ({ nodeId, attempt, status }) => nodeId === 'contract/background' && status !== 'started' && attempt === lastAttempt,
              ).length >= ends
            const lastAttempt = Math.max(0, ...(await journal.listRun('again')).map(({ attempt }) => attempt))
            if (ends > 0) await until(isEnded)
            let messages: unknown[] = []
            for (let n = 0; n < steps; n += 1) messages = (await session.prepareStep(step)).messages ?? []
            told.push(...messages.map((message) => String((message as { content: unknown }).content)))
            await session.close()
          }
        } finally {
          await journal.close()
        }
        const ends = { hangs: 'has failed: ', finishes: 'has finished:\n\nThe answer.', fails: 'has failed: ' }
        const expected = given.map((one) => {
          const [name, id] = one.split(' ') as [keyof typeof ends, string]
          return `The background task of ${name} (session ${id}) ${ends[name]}`
        })
        expect(told).toHaveLength(given.length)
        for (const head of expected)
          expect(told.filter((text) => text.startsWith(head)).length).toBe(expected.filter((one) => one === head).length)
      }),
      { numRuns: 15 },
    )
  })

  test('R53 R54 a child that has the id of one before it begins afresh: it is told of no tasks of that one', async () => {
    const journal = await journalOf()
    const fixture = makeSandbox()
    const told: unknown[] = []
    for (let opening = 0; opening < 2; opening += 1) {
      const session = await openSession(fixture, {
        ...options(journal),
        host: {
          spawn: async ({ agent: { name }, session: child, depth }) => {
            if (depth === 2) return new Promise(() => undefined)
            told.push([name, child.id, (await child.prepareStep(step)).messages])
            return JSON.stringify(await child.call('task', task('hangs')))
          },
        },
      })
      dataOf(await session.call('task', { subagent_type: 'finishes', prompt: 'x' }, { callId: 'same' }))
      await session.close()
    }
    expect(told).toEqual([
      ['finishes', 'again/1-same', undefined],
      ['finishes', 'again/1-same', undefined],
    ])
  })

  test('R54 what cannot be recorded is not begun', async () => {
    const journal = await journalOf()
    let isBegun = false
    const failing = whenTaskBegins(journal, () => Promise.reject(new Error('full')))
    const { call } = await openScene({ ...options(failing), host: { spawn: () => ((isBegun = true), 'x') } })
    expect(failureOf(await call('task', task('finishes')))).toMatchObject({
      code: 'recording_failed',
      text: expect.stringMatching(/not begun: full/u),
    })
    expect(isBegun).toBe(false)
    // It takes no place among the agents at work.
    for (let n = 0; n < 40; n += 1) await call('task', task('finishes'))
    expect((await call('task', { ...task('finishes'), background: false })).type).toBe('output')
  })

  test('R54 a row of a hand that is not ours is told as a failure, or not at all, and never stops the session', async () => {
    const journal = await journalOf()
    await (await openScene(options(journal))).call('todo', { todos: [] })
    const rows = [null, 'no json', '[]', '7', '{"output":7}'].map((json, n) => ({
      inputJson: json,
      outputJson: json,
      errorJson: json,
      status: (['success', 'error', 'unknown'] as const)[n % 3],
    }))
    for (const [n, row] of rows.entries())
      await journal.insertToolCall({ ...row, runId: 'again', nodeId: 'contract/background', attempt: 1, seq: n + 1, toolName: 'task' })
    const { told } = await opened(makeSandbox(), journal, 'again')
    expect(told).toHaveLength(rows.length)
    for (const text of told) expect(text).toMatch(/^assistant: The background task of an agent \(session \) has failed: /u)
  })
})
