import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { activityOf } from '../../ts/report/page/activity.ts'
import { forkColumns, forkPaths } from '../../ts/report/page/fork-columns.ts'
import { makeLanes } from '../../ts/report/page/lanes.ts'
import { amountStep, multiples, timeStep } from '../../ts/report/page/scale.ts'
import { readSelection, selectCalls, selectionHash, type Selection } from '../../ts/report/page/selection.ts'
import { endingNames, remarks, summary } from '../../ts/report/page/words.ts'
import type { ReportCall } from '../../ts/report/report-data.ts'
import { runs, seed } from '../support/randomised.ts'

let rows = 0
const call = (part: Partial<ReportCall> = {}): ReportCall => ({
  row: (rows += 1),
  runId: 'run',
  nodeId: 'task',
  iteration: 0,
  attempt: 1,
  seq: rows,
  tool: 'bash',
  isTask: false,
  target: 'npm test',
  ending: 'success',
  startedAtMs: 0,
  finishedAtMs: 10,
  waitedMs: null,
  inputBytes: 1,
  outputBytes: 1,
  sideEffect: true,
  idempotent: false,
  callToken: null,
  revertStatus: null,
  exit: '',
  reason: '',
  agent: null,
  changes: [],
  refusals: [],
  fork: null,
  ...part,
})

const someCall = fc
  .record({
    startedAtMs: fc.nat(1_000),
    length: fc.option(fc.nat(300)),
    nodeId: fc.constantFrom('a', 'b'),
    attempt: fc.integer({ min: 1, max: 2 }),
  })
  .map(({ length, startedAtMs, ...rest }) => call({ ...rest, startedAtMs, finishedAtMs: length === null ? null : startedAtMs + length }))

describe('forks', () => {
  const work = (id: string, what: NonNullable<ReportCall['fork']>['what'], paths: string[] = [], agent: string | null = null) =>
    call({
      tool: 'task',
      nodeId: 'lead',
      fork: { id, what, agent, changes: paths.map((path) => ({ path, kind: 'modified' as const })), more: 0 },
    })

  test('have a column each, with who worked in it, what it changed and what became of that', () => {
    const columns = forkColumns([
      call(),
      work('f1', 'changed', ['a', 'b'], 'one'),
      work('f2', 'changed', ['b', 'c'], 'two'),
      work('f3', 'opened'),
      work('f1', 'conflict', ['b']),
      work('f2', 'applied', ['b', 'c']),
      work('f2', 'discarded'),
      work('f1', 'discarded'),
      work('f3', 'applied', ['d']),
      work('f3', 'undone', ['d']),
    ])
    expect(columns.map(({ id, name, state, changes }) => [id, name, state, [...changes.keys()].join('')])).toEqual([
      ['f1', 'one', 'discarded', 'ab'],
      ['f2', 'two', 'applied', 'bc'],
      ['f3', 'lead', 'undone', 'd'],
    ])
    expect(forkPaths(columns)).toEqual(['b', 'a', 'c', 'd'])
    expect(forkColumns([call()])).toEqual([])
  })
})

describe('lanes', () => {
  test('hold every call once, and no two calls of one level overlap', () => {
    fc.assert(
      fc.property(fc.array(someCall, { maxLength: 40 }), (calls) => {
        const lanes = makeLanes(calls, 2_000)
        expect(lanes.flatMap(({ bars }) => bars.map((bar) => bar.call.row)).sort()).toEqual(calls.map(({ row }) => row).sort())
        for (const { bars, levels } of lanes) {
          for (const bar of bars) expect(bar.level).toBeLessThan(levels)
          for (const one of bars) {
            for (const other of bars) {
              if (one === other || one.level !== other.level) continue
              expect(one.end <= other.start || other.end <= one.start).toBe(true)
            }
          }
        }
      }),
      { seed, numRuns: runs(200) },
    )
  })

  test('have a gap where nothing of the task ran', () => {
    const [lane] = makeLanes(
      [call({ startedAtMs: 0, finishedAtMs: 10 }), call({ startedAtMs: 5, finishedAtMs: 30 }), call({ startedAtMs: 50 })],
      60,
    )
    expect(lane?.gaps).toEqual([{ start: 30, end: 50 }])
    expect(lane?.levels).toBe(2)
  })
})

const none: Selection = { run: null, tool: null, ending: null, file: null, refused: null, node: null, text: '', call: null }

describe('a selection', () => {
  const selection: fc.Arbitrary<Selection> = fc.record({
    run: fc.option(fc.string({ minLength: 1 })),
    tool: fc.option(fc.string({ minLength: 1 })),
    ending: fc.option(fc.constantFrom(...endingNames)),
    file: fc.option(fc.string({ minLength: 1 })),
    refused: fc.option(fc.string({ minLength: 1 })),
    node: fc.option(fc.string({ minLength: 1 })),
    text: fc.string(),
    call: fc.option(fc.nat()),
  })

  test('is what its address says', () => {
    fc.assert(
      fc.property(selection, (chosen) => {
        expect(readSelection(selectionHash(chosen))).toEqual(chosen)
      }),
      { seed, numRuns: runs(200) },
    )
  })

  test.each(['', '#', '#call=x&ending=nothing', '#%', '#call=1e999'])('is made of any address: %s', (hash) => {
    expect(readSelection(hash)).toEqual(none)
  })

  test('finds every word, in any field', () => {
    const calls = [call({ target: 'src/a.ts', reason: 'No such file' }), call({ target: 'src/b.ts' })]
    const found = (text: string) => selectCalls(calls, { ...none, text }).length
    expect([found('SRC'), found('a.ts such'), found('a.ts b.ts'), found('')]).toEqual([2, 1, 0, 2])
  })
})

describe('words', () => {
  test('sum up what is shown', () => {
    expect(summary([call(), call({ ending: 'error' }), call({ ending: 'refused', tool: 'read' })])).toBe(
      '3 calls of 2 tools in 1 task, within 10ms. 1 succeeded, 1 failed, 1 refused before anything was done.',
    )
    expect(summary([call()])).toContain('All of them succeeded.')
    expect(summary([])).toBe('No calls are shown.')
  })

  test('tell waits, overlaps, retries and what is unknown', () => {
    const before = call({ startedAtMs: 0, finishedAtMs: 1_000 })
    const beside = call({ nodeId: 'other', startedAtMs: 4_000, finishedAtMs: 9_000 })
    const told = call({ startedAtMs: 5_000, finishedAtMs: 6_000, waitedMs: 700, ending: 'unknown', attempt: 1 })
    expect(remarks(told, [before, beside, told])).toMatchInlineSnapshot(`
      [
        "Nobody knows how far it got: it was stopped, or its program ended. Look at what it changed before doing it again.",
        "It waited 700ms for permission.",
        "One other call ran at the same time.",
        "4.00s passed since the call before it in this task ended.",
      ]
    `)
    expect(remarks(call({ exit: 'exit 1', tool: 'bash' }), [])[1]).toBe(
      'Its command ended with exit 1, which the agent was told: most commands say so that something did not work.',
    )
    expect(remarks(call({ attempt: 2, revertStatus: 'reverted', sideEffect: false }), [])).toMatchInlineSnapshot(`
      [
        "It ended without an error.",
        "This is attempt 2 of its task: an earlier attempt did not finish.",
        "It was undone later.",
        "It changes nothing, so it can be repeated.",
      ]
    `)
  })
})

describe('the plot', () => {
  test('has every millisecond at work and every byte once', () => {
    fc.assert(
      fc.property(fc.array(someCall, { minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 100 }), (calls, parts) => {
        const { workMs, bytes, from, partMs } = activityOf(calls, parts)
        const sum = (amounts: number[]): number => amounts.reduce((total, amount) => total + amount, 0)
        expect([workMs.length, bytes.length]).toEqual([parts, parts])
        expect(sum(workMs)).toBeCloseTo(sum(calls.map(({ startedAtMs, finishedAtMs }) => (finishedAtMs ?? startedAtMs) - startedAtMs)), 3)
        expect(sum(bytes)).toBe(calls.length)
        expect(from + parts * partMs).toBeCloseTo(Math.max(from + 1, ...calls.map((one) => one.finishedAtMs ?? one.startedAtMs)), 6)
      }),
      { seed, numRuns: runs(200) },
    )
  })

  test('does not count a task, whose calls are at work', () => {
    const { workMs, bytes } = activityOf([call({ finishedAtMs: 100, isTask: true }), call({ startedAtMs: 50, finishedAtMs: 60 })], 10)
    expect(workMs.map((ms) => Math.round(ms))).toEqual([0, 0, 0, 0, 0, 10, 0, 0, 0, 0])
    expect(bytes).toEqual([0, 0, 0, 0, 0, 0, 1, 0, 0, 0])
  })

  test('has marks at round times and amounts', () => {
    expect([0, 3, 400, 7_000, 90_000, 2e8].map(timeStep)).toEqual([1, 5, 500, 10_000, 120_000, 3 * 864e5])
    expect([0, 1, 3, 30, 4_096, 1e9 + 1].map(amountStep)).toEqual([1, 1, 5, 50, 5_000, 2e9])
    expect([multiples(5, 3, 21), multiples(10, 1, 9), multiples(2, 4, 4)]).toEqual([[5, 10, 15, 20], [], [4]])
  })
})
