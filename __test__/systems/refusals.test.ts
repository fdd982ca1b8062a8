import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FILES } from './refusals/files.ts'
import { LIMITS } from './refusals/limits.ts'
import { NETWORK } from './refusals/network.ts'
import { ordinaryFailures } from './refusals/ordinary.ts'
import { PRIVILEGES } from './refusals/privileges.ts'
import type { RefusalClass, Row } from './refusals/refusal.ts'
import { Host, isHere, Lane, spread, type Told } from './refusals/run.ts'

// A failed command has a note if, and only if, the sandbox has refused it something.
const ALL: RefusalClass[] = [...FILES, ...NETWORK, ...LIMITS, ...PRIVILEGES]
const CLASSES = ALL.filter(({ isRefused = true }) => isRefused)
/** Of all notes so many are right at least. None is wrong. */
const RIGHT = 0.98
const LANES = 3

let host: Host
let lanes: Lane[]
const counts = { all: 0, right: 0, none: [] as string[] }

beforeAll(async () => {
  host = await Host.start()
  lanes = Array.from({ length: LANES }, () => new Lane(host))
}, 60_000)
afterAll(async () => {
  for (const lane of lanes) lane.remove()
  await host.stop()
}, 60_000)

const shown = (door: string, [program, script]: Row, { note, denials, output }: Told): string =>
  `${door}, ${program}: ${script.slice(0, 200)}\n  note: ${note}\n  denials: ${denials.join(', ')}\n  printed: ${output.trim().slice(-400)}`

/** Runs rows whose programs are here at each door, on all lanes, and hands over what each was told, with a text about it. */
async function runAll(
  rows: readonly Row[],
  { options, inSessions = true }: Pick<RefusalClass, 'options' | 'inSessions'>,
  tell: (told: Told, text: string) => void,
): Promise<void> {
  const doors = await Promise.all(
    lanes.map(async (lane) => {
      const session = inSessions ? await lane.session(options) : undefined
      return { lane, session, runs: { tools: lane.tools(options), ...(session && { session }) } }
    }),
  )
  await spread(lanes, rows.filter(isHere), async (lane, row) => {
    for (const [door, run] of Object.entries(doors.find((of) => of.lane === lane)?.runs ?? {})) {
      const told = await lane.run(row[1], run)
      tell(told, shown(door, row, told))
    }
  })
  for (const { session } of doors) await session?.close()
}

describe.runIf(process.platform === 'linux')('A refusal', () => {
  for (const refusal of CLASSES) {
    test(`${refusal.name} is named in whichever words`, { timeout: 900_000 }, async () => {
      const { rows, says, isPrinted = false } = refusal
      const wrong: string[] = []
      const none: string[] = []
      const passed: string[] = []
      await runAll(rows, refusal, (told, text) => {
        if (told.isOk) {
          passed.push(text)
          return
        }
        counts.all += 1
        if (says.test(isPrinted ? told.output : told.note)) counts.right += 1
        else (told.note === '' ? none : wrong).push(text)
      })
      console.log(`${refusal.name}: ${none.length} without a note\n${none.join('\n')}`)
      counts.none.push(...none)
      expect.soft(wrong, wrong.join('\n')).toEqual([])
      expect(passed, `nothing was refused: ${passed.join('\n')}`).toEqual([])
    })
  }

  test('has a note in nearly every case', () => {
    console.log(`${counts.right} of ${counts.all} refusals have a note that is right`)
    expect(counts.right / Math.max(1, counts.all), counts.none.join('\n')).toBeGreaterThanOrEqual(RIGHT)
  })
})

describe.runIf(process.platform === 'linux')('An ordinary failure', () => {
  test('has no note, whatever was printed', { timeout: 3_600_000 }, async () => {
    const wrong: string[] = []
    const factor = Number(process.env['TOOLWRIGHT_SOAK_FACTOR'] ?? '1')
    const every = Math.max(1, Math.round(10 / factor))
    const all = ordinaryFailures()
    expect(all.length).toBeGreaterThanOrEqual(1000)
    let count = 0
    await runAll(
      all.filter((_, index) => index % every === 0),
      {},
      (told, text) => {
        count += told.isOk ? 0 : 1
        if (told.note !== '' || told.denials.length > 0 || told.isOk) wrong.push(text)
      },
    )
    console.log(`${count} ordinary failures, ${wrong.length} with a note`)
    expect(wrong, wrong.join('\n')).toEqual([])
  })
})
