import { ToolLoopAgent } from 'ai'
import { openJournal } from 'toolwright'
import {
  createSession,
  lockedToolIds,
  replaySession,
  toAcpToolCall,
  type Envelope,
  type RecordPart,
  type SessionHost,
} from 'toolwright/contract'
import { envelopeProblem } from 'toolwright/contract/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { seenBy } from '../../support/scripted-model.ts'
import { acpProblems } from '../acp/acp-schema.ts'
import { until } from '../mcp/servers.ts'
import { deepestCalls, modelOf, reaching, skillFile, stagedOptions, stagedTurns, startWeb } from './whole-session-fixture.ts'

/** How long one run may take, with everything in it that is slow on purpose. */
const MOST_MS = 15_000

async function run(host: SessionHost, headless: boolean) {
  const web = await startWeb()
  const turns = stagedTurns(web)
  const fixture = makeSandbox()
  fixture.put(...skillFile)
  const journal = await openJournal('memory:')
  onTestFinished(() => journal.close())
  const parts: RecordPart[] = []
  const options = await stagedOptions(web)
  const session = await createSession({
    workspace: fixture.root,
    ...(options as Pick<Required<typeof options>, 'manifest'>),
    ...options,
    host: { ...options.host, ...host },
    headless,
    journal,
    onRecord: (part) => parts.push(part),
  })
  onTestFinished(() => session.close())
  const model = modelOf(...turns, 'Done.')
  const agent = new ToolLoopAgent({
    model,
    instructions: session.skillsPrompt(),
    tools: session.tools,
    prepareStep: session.prepareStep,
    stopWhen: () => false,
  })
  const start = performance.now()
  const { text } = await agent.generate({ prompt: 'Do it all.', abortSignal: AbortSignal.timeout(MOST_MS) })
  expect(text).toBe('Done.')
  expect(performance.now() - start).toBeLessThan(MOST_MS)
  // What the task in the background gave is told once: to a step of the agent, or to one after it.
  let told = JSON.stringify(model.doGenerateCalls.map(({ prompt }) => prompt))
  await until(async () => {
    told += JSON.stringify((await session.prepareStep({ messages: [] })).messages ?? [])
    return told.includes('Seen.')
  })
  return { web, turns, fixture, journal, parts, session, model, results: seenBy(model) }
}

type Run = Awaited<ReturnType<typeof run>>

const envelopeOf = ({ results }: Run, id: string): Envelope => {
  const found = results.find(({ toolCallId }) => toolCallId === id)
  return JSON.parse(String(found?.output.value)) as Envelope
}

const data = (one: Run, id: string): any => {
  const envelope = envelopeOf(one, id)
  return envelope.type === 'output' ? envelope.data : undefined
}

/** What everything came to, of the parent and of the agent at the third level. */
function expectCodes(one: Run, isHeadless: boolean): void {
  const calls = reaching(one.turns.flat())
  const codes = Object.fromEntries(calls.map(({ id }) => [id, envelopeOf(one, id).metadata.code]))
  expect(one.results).toHaveLength(one.turns.flat().length)
  expect(codes).toEqual(Object.fromEntries(calls.map(({ id, code, headless }) => [id, isHeadless ? headless : code])))
  const used = new Set(calls.map(({ tool }) => tool))
  for (const id of lockedToolIds) expect(used, id).toContain(id)
  const ended = new Map(one.parts.flatMap((part) => (part.type === 'result' ? [[part.call_id, part.envelope.metadata.code] as const] : [])))
  for (const { id, code, headless } of reaching(deepestCalls(one.web))) expect(ended.get(id), id).toBe(isHeadless ? headless : code)
  for (const { type, ...rest } of one.parts)
    if (type === 'result') expect(envelopeProblem((rest as { envelope: Envelope }).envelope)).toBeUndefined()
}

/** What was fetched is what was to be, and nothing was dialled that may not be. */
function expectWeb(one: Run, isHeadless: boolean): void {
  const { web } = one
  expect(web.forbidden.connections()).toBe(0)
  expect(JSON.stringify(one.parts)).not.toContain('secret')
  expect(data(one, 'page')).toMatchObject({ status: 200, text: expect.stringContaining('# Page') })
  expect(data(one, 'charset').text).toBe('caf\ufffd')
  expect(data(one, 'search').results).toEqual([{ title: 'T', url: 'https://example.com/', snippet: 'S' }])
  expect(data(one, 'rebind-first').text).toContain('# Page')
  // Once for each hop, so that no second answer comes between the check and the dial.
  expect(web.lookups.filter((host) => host === 'rebind.test')).toHaveLength(2)
  const asked = web.named.requests.map(({ headers }) => headers.host)
  expect(asked.filter((host) => host === `rebind.test:${web.port}`)).toHaveLength(1)
  expect(asked.filter((host) => host === `elsewhere.test:${web.port}`)).toHaveLength(isHeadless ? 0 : 1)
}

/** Every call of every session has a row, and the host's own store was told of it twice. */
async function expectJournal({ journal, parts, session, turns, web }: Run): Promise<void> {
  const keysOf = (type: RecordPart['type']) =>
    parts
      .filter((part) => part.type === type)
      .map(({ session_id, call_id, tool }) => `${session_id.split('/').length - 1} ${call_id} ${tool}`)
  const nested = ['1 to-builder task', '2 to-checker task', '1 scout-glob glob']
  const calls = [
    ...reaching(turns.flat()).map(({ id, tool }) => `0 ${id} ${tool}`),
    ...nested,
    ...reaching(deepestCalls(web)).map(({ id, tool }) => `3 ${id} ${tool}`),
  ].sort()
  expect(keysOf('call').sort()).toEqual(calls)
  expect(keysOf('result').sort()).toEqual(calls)

  const runs = await journal.listRuns()
  const aside = parts.find(({ call_id }) => call_id === 'scout-glob')?.session_id ?? ''
  expect(runs.map(({ runId }) => runId).sort()).toEqual([session.id, aside].sort())
  const all = (await Promise.all(runs.map(({ runId }) => journal.listRun(runId)))).flat()
  const ofBackground = all.filter(({ nodeId }) => nodeId.startsWith('contract/background'))
  expect(ofBackground.map(({ nodeId, status }) => `${nodeId} ${status}`)).toEqual([
    'contract/background success',
    'contract/background-told success',
  ])
  const rows = all.filter((row) => !ofBackground.includes(row))
  expect(rows.every(({ status }) => status === 'success' || status === 'error')).toBe(true)
  const depthOf = (runId: string, nodeId: string): number => nodeId.split('/').length - 1 + (runId === aside ? 1 : 0)
  expect(rows.map(({ runId, nodeId, callToken, toolName }) => `${depthOf(runId, nodeId)} ${callToken} ${toolName}`).sort()).toEqual(calls)
  const levels = new Set(rows.filter(({ runId }) => runId === session.id).map(({ nodeId }) => nodeId.replaceAll(/\d+-/gu, '')))
  expect(levels).toEqual(new Set(['contract', 'contract/deep', 'contract/deep/to-builder', 'contract/deep/to-builder/to-checker']))
}

/** What a client of the Agent Client Protocol would be told. */
function expectTranscript({ parts, fixture }: Run): void {
  const told = parts.map((part) => {
    const call = { id: part.call_id, tool: part.tool, args: part.args }
    return {
      key: `${part.session_id} ${part.call_id}`,
      update: toAcpToolCall(call, part.type === 'result' ? part.envelope : undefined, { workspace: fixture.root }),
    }
  })
  for (const { update } of told) expect(acpProblems('ToolCall', update)).toBeNull()
  const keys = new Set(told.map(({ key }) => key))
  expect(keys.size).toBe(told.length / 2)
  for (const key of keys) {
    const updates = told.filter((one) => one.key === key)
    expect(
      updates.map(({ update }) => update.status),
      key,
    ).toEqual(['in_progress', expect.stringMatching(/completed|failed/u)])
    for (const { update } of updates)
      expect(update.content.every((part) => part.type !== 'content' || part.content.type !== 'text' || part.content.text.length > 0)).toBe(
        true,
      )
  }
}

/** The same agent over the journal sees the same, byte for byte, and nothing is dialled. */
async function expectReplay({ journal, session, turns, results, parts, web }: Run): Promise<void> {
  const locked = new Set<string>(lockedToolIds)
  const dialled = web.open.connections()
  const replay = await replaySession(journal, session.id, { tools: session.registered.filter(({ id }) => !locked.has(id)) })
  const again = modelOf(...turns, 'Done.')
  await new ToolLoopAgent({ model: again, tools: replay.tools, stopWhen: () => false }).generate({
    prompt: 'Do it all.',
    abortSignal: replay.signal,
  })
  replay.finish()
  // What the SDK answers in its own words names the tools there are.
  const recorded = new Set(reaching(turns.flat()).map(({ id }) => id))
  const told = (all: typeof results): string => JSON.stringify(all.filter(({ toolCallId }) => recorded.has(toolCallId)))
  expect(told(seenBy(again))).toBe(told(results))
  expect(web.open.connections()).toBe(dialled)

  for (const id of [session.id, parts.find(({ call_id }) => call_id === 'scout-glob')?.session_id ?? '']) {
    const envelopes = new Map(
      parts.flatMap((part) =>
        part.type === 'result' && part.session_id === id ? [[part.call_id, JSON.stringify(part.envelope)] as const] : [],
      ),
    )
    let count = 0
    for await (const { call_id, envelope } of await replaySession(journal, id)) {
      expect(JSON.stringify(envelope)).toBe(envelopes.get(call_id ?? ''))
      count += 1
    }
    expect(count).toBe(envelopes.size)
  }
}

describe('one session with all thirteen tools', () => {
  test('with a user: every call ends as it should; journal, ACP transcript and replay are complete', { timeout: 40_000 }, async () => {
    const prompts: string[] = []
    const one = await run(
      {
        prompt: ({ session_id, tool }) => {
          prompts.push(`${session_id.split('/').length - 1} ${tool}`)
          return 'allow_once'
        },
        question: (questions) => questions.map(() => ['yes']),
      },
      false,
    )
    expectCodes(one, false)
    expectWeb(one, false)
    expect(prompts.sort()).toEqual(['0 local_create_issue', '0 web_fetch', '0 write', '3 write'])
    expect(one.fixture.text('src/a.ts')).toBe('export const a = 2\n')
    expect([one.fixture.text('asked.txt'), one.fixture.text('asked-by-child.txt')]).toEqual(['x', 'x'])
    expect(data(one, 'over-stdio').content[0].text).toBe('42')
    expect(data(one, 'over-http').content[0].text).toBe('42')
    expect(data(one, 'skill').content).toContain('Write them down.')
    expect(data(one, 'deep').output).toBe('builder did it.')
    expect(data(one, 'question').answers).toEqual([['yes']])
    await expectJournal(one)
    expectTranscript(one)
    await expectReplay(one)
  })

  test('headless: the same run waits for nobody, although the host could be asked', { timeout: 40_000 }, async () => {
    let asked = 0
    const never = (): Promise<never> => {
      asked += 1
      return new Promise(() => undefined)
    }
    const one = await run({ prompt: never, question: never }, true)
    expect(asked).toBe(0)
    expectCodes(one, true)
    expectWeb(one, true)
    expect(() => one.fixture.text('asked.txt')).toThrow()
    expect(() => one.fixture.text('asked-by-child.txt')).toThrow()
    await expectJournal(one)
    expectTranscript(one)
    await expectReplay(one)
    const start = performance.now()
    await one.session.close()
    expect(performance.now() - start).toBeLessThan(4_000)
    await until(() => one.web.open.open() === 0)
  })
})
