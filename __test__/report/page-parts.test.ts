import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeLanes } from '../../ts/report/page/lanes.ts'
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

describe('a selection', () => {
  const selection: fc.Arbitrary<Selection> = fc.record({
    run: fc.option(fc.string({ minLength: 1 })),
    tool: fc.option(fc.string({ minLength: 1 })),
    ending: fc.option(fc.constantFrom(...endingNames)),
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
    expect(readSelection(hash)).toEqual({ run: null, tool: null, ending: null, text: '', call: null })
  })

  test('finds every word, in any field', () => {
    const calls = [call({ target: 'src/a.ts', reason: 'No such file' }), call({ target: 'src/b.ts' })]
    const found = (text: string) => selectCalls(calls, { run: null, tool: null, ending: null, text, call: null }).length
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
        "It did what it was asked to do.",
        "This is attempt 2 of its task: an earlier attempt did not finish.",
        "It was undone later.",
        "It changes nothing, so it can be repeated.",
      ]
    `)
  })
})
