import { join } from 'node:path'
import fc from 'fast-check'
import { type CallClaim, type Journal, openJournal, type ToolCallRef } from 'toolwright'
import { expect, test } from 'vitest'
import { runs, seed } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'

type Outcome = 'success' | 'error' | 'refused' | 'unknown'
type Step =
  | { act: 'claim'; who: 0 | 1; id: number; repeat: boolean }
  | { act: 'end'; id: number; outcome: Outcome }
  | { act: 'restart'; who: 0 | 1 }

/** What a call is, as the tests see it. */
interface Known {
  state: 'running' | 'recorded' | 'refused' | 'unknown'
  holder: 0 | 1
  ref: ToolCallRef
  /** How often it was made. */
  made: number
}

const who = fc.constantFrom<0 | 1>(0, 1)
const id = fc.integer({ min: 0, max: 3 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant('claim' as const), who, id, repeat: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant('end' as const),
      id,
      outcome: fc.constantFrom<Outcome>('success', 'error', 'refused', 'unknown'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('restart' as const), who }) },
)

/** What a claim must answer. */
function expected(known: Known | undefined, repeat: boolean): keyof (CallClaim & object) | string {
  if (known === undefined || known.state === 'refused') return 'claimed'
  if (known.state === 'unknown') return repeat ? 'claimed' : 'unknown'
  return known.state
}

test('whatever two processes do, and whichever of them dies: a claim answers what became of the call', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const file = join(makeSandbox().root, 'runs.db')
      const journals: [Journal, Journal] = [await openJournal(file), await openJournal(file)]
      const calls = new Map<number, Known>()
      for (const one of steps) {
        if (one.act === 'restart') {
          await journals[one.who].close()
          journals[one.who] = await openJournal(file)
          for (const known of calls.values()) if (known.state === 'running' && known.holder === one.who) known.state = 'unknown'
          continue
        }
        const known = calls.get(one.id)
        if (one.act === 'end') {
          if (known?.state !== 'running') continue
          const { outcome } = one
          const status = outcome === 'refused' ? 'error' : outcome
          await journals[known.holder].updateToolCall(known.ref, { status, acted: outcome !== 'refused' })
          known.state = outcome === 'refused' || outcome === 'unknown' ? outcome : 'recorded'
          continue
        }
        const call = { runId: 'run', nodeId: 'node', attempt: 1, callId: `call-${one.id}`, toolName: 'pay', sideEffect: true }
        const claim = await journals[one.who].claimCall(call, { repeat: one.repeat })
        const wanted = expected(known, one.repeat)
        expect(Object.keys(claim)).toContain(wanted)
        if ('claimed' in claim) {
          calls.set(one.id, { state: 'running', holder: one.who, ref: claim.claimed, made: (known?.made ?? 0) + 1 })
        }
      }
      const rows = await journals[0].listRun('run')
      expect(rows).toHaveLength(calls.size)
      expect(new Set(rows.map(({ seq }) => seq)).size).toBe(calls.size)
      await Promise.all(journals.map((journal) => journal.close()))
    }),
    { seed, numRuns: runs(60) },
  )
}, 120_000)
