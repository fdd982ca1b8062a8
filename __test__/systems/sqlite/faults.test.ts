/**
 * A process is killed before each write to the files of its journal, and the disk is full at each of them: once, or from then on. The law of
 * the kills: no effect twice, none lost in silence, and nobody waits.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openJournal } from 'toolwright'
import { expect, test } from 'vitest'
import { startScript } from '../../support/child-script.ts'
import { runs } from '../../support/randomised.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { execute, NAMES, paid, type Protection } from './faulty-program.ts'

/** The system calls that change a file of a journal. */
const WRITES = ['pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'fallocate', 'write'] as const
const FAULTS = { killed: 'signal=KILL', 'full once': 'error=ENOSPC', 'full from then on': 'error=ENOSPC' } as const
type Fault = keyof typeof FAULTS
const PROTECTIONS: readonly Protection[] = ['tell', 'probe']
const MAX_WRITES = 500
/** How long a program may take on a busy machine. */
const LIMIT_MS = 60_000

interface Place {
  fault: Fault
  write: (typeof WRITES)[number]
  /** The write of its kind at which it fails, of each thread. */
  number: number
  /** Writes of the main thread come after many of the others, and are counted alone. */
  threads: 'all' | 'main'
  protection: Protection
}

const nameOf = ({ fault, write, number, threads, protection }: Place): string =>
  `${fault} at ${write} ${number} of ${threads === 'all' ? 'a thread' : 'the main thread'} (${protection})`

/** What strace has to do. */
function tracer(files: readonly string[], log: string, { fault, write, number, threads }: Place): string[] {
  const when = fault === 'full from then on' ? `${number}+` : String(number)
  // A filter in the kernel is faster, and injects no signals.
  const follow = threads === 'main' ? [] : fault === 'killed' ? ['-f'] : ['-f', '--seccomp-bpf']
  const inject = ['-e', `trace=${write}`, '-e', `inject=${write}:${FAULTS[fault]}:when=${when}`]
  return ['strace', '-qq', '-o', log, ...follow, ...inject, ...files.flatMap((file) => ['-P', file])]
}

/** @returns whether the fault came, and what is not as the law has it */
async function judged(place: Place): Promise<{ came: boolean; complaints: string[] }> {
  const { root } = makeSandbox()
  const [file, effects, log] = [join(root, 'runs.db'), join(root, 'effects.txt'), join(root, 'trace.txt')]
  const program = join(import.meta.dirname, 'faulty-program.ts')
  const files = ['', '-wal', '-shm'].map((end) => `${file}${end}`)
  const { child, ended } = startScript(program, [file, effects, place.protection], tracer(files, log, place))
  const first = await Promise.race([ended, pause(LIMIT_MS, undefined, { ref: false })])
  if (first === undefined) {
    child.kill('SIGKILL')
    return { came: true, complaints: ['the program is stuck'] }
  }
  const complaints: string[] = []
  const heard = new Map<string, string[]>()
  for (const line of first.stdout.trim().split('\n')) {
    const [name = '', answer = ''] = line.split(' ')
    heard.set(name, [answer])
    // A code of the journal says that nothing was done.
    if (answer.startsWith('JOURNAL_') && paid(effects, name as 'one') > 0) complaints.push(`${name} was made in spite of ${answer}`)
  }
  // Whoever comes later finds everything as it should be.
  const again = execute(file, effects, place.protection, (name, answer) => heard.set(name, [...(heard.get(name) ?? []), answer]))
  const isOver = await Promise.race([again.then(() => true), pause(LIMIT_MS, false, { ref: false })])
  if (!isOver) return { came: true, complaints: [...complaints, 'the next program is stuck'] }
  for (const name of NAMES) {
    const [made, answers] = [paid(effects, name), heard.get(name) ?? []]
    const last = answers.at(-1)
    const told = name === 'task' ? 'REPLAY_UNSAFE' : 'OUTCOME_UNKNOWN'
    if (made > 1) complaints.push(`${name} was made ${made} times`)
    if (last !== 'paid' && last !== told) complaints.push(`${name}: ${last}`)
    if (answers.includes('paid') && made !== 1) complaints.push(`${name} was not made: ${answers.join()}`)
    if (place.protection === 'probe' && name !== 'task' && last !== 'paid') complaints.push(`${name} was not looked up: ${last}`)
  }
  const journal = await openJournal(file)
  for (const { toolName, status } of await journal.listRun('run')) if (status === 'started') complaints.push(`${toolName} is ${status}`)
  await journal.close()
  return { came: first.code !== 0 || readFileSync(log, 'utf8').includes('INJECTED'), complaints }
}

test.each(Object.keys(FAULTS) as Fault[])('%s, at each write', { timeout: 1_200_000 }, async (fault) => {
  const { status } = spawnSync('strace', ['-qq', '-o', '/dev/null', '-e', 'inject=getppid:error=ENOSPC', 'true'])
  if (status !== 0) return console.log('skipped: strace, which places the faults, is not installed, or may not trace here')
  const complaints: string[] = []
  let places = 0
  const all = WRITES.flatMap((write) => (['all', 'main'] as const).map((threads) => ({ write, threads })))
  for (const { write, threads } of all) {
    let [next, isOver] = [1, false]
    const lane = async (): Promise<void> => {
      while (!isOver) {
        const number = next
        next += 1
        // Every other place has the other protection; with a higher factor, each has both.
        for (const protection of runs(1) >= 10 ? PROTECTIONS : [PROTECTIONS[number % 2] ?? 'tell']) {
          const place = { fault, write, number, threads, protection }
          const found = await judged(place)
          complaints.push(...found.complaints.map((what) => `${nameOf(place)}: ${what}`))
          if (found.came) places += 1
          else isOver = true
        }
        expect(number).toBeLessThan(MAX_WRITES)
      }
    }
    await Promise.all([lane(), lane(), lane()])
  }
  console.log(`${fault}: ${places} places`)
  expect(complaints).toEqual([])
  expect(places).toBeGreaterThan(50)
})
