import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configureTools } from 'toolwright'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { answered, goodArguments, openObjects } from './hostile-arguments/good-arguments.ts'
import { hostileValues } from './hostile-arguments/hostile-values.ts'
import { type Outcome, outcomeOf } from './hostile-arguments/outcome.ts'
import { exportedSubjects, methodsOf, type Subject } from './hostile-arguments/subjects.ts'

const home = process.cwd()
const directory = mkdtempSync(join(tmpdir(), 'toolwright-hostile-'))
vi.spyOn(console, 'warn').mockImplementation(() => undefined)
const exported = await exportedSubjects()
const open = await openObjects(directory)
const subjects = [...exported, ...Object.entries(open.objects).flatMap(([name, object]) => methodsOf(name, object))]
process.chdir(directory)

afterAll(async () => {
  process.chdir(home)
  await open.close()
  rmSync(directory, { recursive: true, force: true })
})

/** What a function must refuse, and what it has an answer to. */
function faultOf(subject: Subject, kind: string, outcome: Outcome): string[] {
  if ('fault' in outcome) return [`${kind}: ${outcome.fault}`]
  if (
    'refusal' in outcome ||
    isErrorEnvelope(outcome.answer) ||
    (answered[subject.name] ?? []).some((one) => one === kind || (one === 'anything' && !kind.startsWith('argument')))
  )
    return []
  return [`${kind}: taken without a word`]
}

/** A session answers with one to whatever goes wrong. */
const isErrorEnvelope = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && (answer as { type?: unknown }).type === 'error' && 'error_text' in answer

/** A journal is given whole: its methods are no options. */
const isOptions = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype && !('insertToolCall' in value)

describe('every public function answers whatever it is given: with a typed error that says what to do, or as it promises', () => {
  test('functions of every entry point are looked at', () => {
    const names = subjects.map(({ name }) => name)
    for (const some of [
      'defineTool',
      'runTask',
      'tools.read.execute',
      'contract#builtInTools.read.execute',
      'contract#createSession',
      'standard-agents#createThread',
      'journal.listRun',
      'thread.call',
    ]) {
      expect(names).toContain(some)
    }
    // A name in these tables that is no function's would promise nothing.
    expect([...Object.keys(goodArguments(open)), ...Object.keys(answered)].filter((name) => !names.includes(name))).toEqual([])
  })

  test.each(subjects.map((subject) => [subject.name, subject] as const))(
    '%s',
    async (_, subject) => {
      const faults: string[] = []
      const nothing = await outcomeOf(() => subject.call([]))
      if ('fault' in nothing || subject.needs > 0) faults.push(...faultOf(subject, 'nothing', nothing))
      for (const [kind, make] of Object.entries(hostileValues)) {
        faults.push(...faultOf(subject, kind, await outcomeOf(() => subject.call([make(), make(), make(), make()]))))
      }
      const good = goodArguments(open)[subject.name] ?? []
      for (const [index, value] of good.entries()) {
        const withOne = (other: unknown): Promise<Outcome> => outcomeOf(() => subject.call(good.with(index, other)))
        for (const [kind, make] of Object.entries(hostileValues)) {
          const outcome = await withOne(make())
          if ('fault' in outcome) faults.push(`argument ${index}, ${kind}: ${outcome.fault}`)
        }
        if (!isOptions(value)) continue
        faults.push(...faultOf(subject, `argument ${index}, a misspelt option`, await withOne({ ...value, nope: 1 })))
        for (const name of Object.keys(value)) {
          for (const [kind, make] of Object.entries(hostileValues)) {
            const outcome = await withOne({ ...value, [name]: make() })
            if ('fault' in outcome) faults.push(`argument ${index}, ${name} is ${kind}: ${outcome.fault}`)
          }
        }
      }
      configureTools({})
      expect(faults).toEqual([])
      // An empty one is seen while commands run, and for a moment after (docs/security.md).
      expect(readdirSync(directory).filter((name) => name !== '.git')).toEqual([])
    },
    60_000,
  )
})
