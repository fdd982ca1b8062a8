import { readdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../../support/processes.ts'

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // it has ended, or is somebody else's
  }
}

const pids = (): number[] => readdirSync('/proc').map(Number).filter(Boolean)

/** State and parent of a process, and when it began. */
function statOf(pid: number): { state: string; parent: number; began: string } | undefined {
  const text = read(`/proc/${pid}/stat`)
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return text === '' ? undefined : { state: fields[0] ?? '', parent: Number(fields[1]), began: fields[19] ?? '' }
}

/** Whether the whole process has ended: its first thread alone may have. */
const hasEnded = (pid: number): boolean =>
  statOf(pid)?.state !== 'Z'
    ? statOf(pid) === undefined
    : readTasks(pid).every((task) => /\) [ZX] /u.test(read(`/proc/${pid}/task/${task}/stat`)))

function readTasks(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** Whether a process that runs has a text among its arguments. */
function isMarked(pid: number, mark: string): boolean {
  // That of a process without its first thread is empty at the process, and whole at its threads.
  const line =
    read(`/proc/${pid}/cmdline`) ||
    readTasks(pid)
      .map((task) => read(`/proc/${pid}/task/${task}/cmdline`))
      .join('')
  return line.includes(mark) && !hasEnded(pid)
}

/** The latest first: some are gone again soon after they were listed. */
const latest = (): number[] => pids().toReversed()

/** The processes that have a text among their arguments. */
export const marked = (mark: string): number[] => latest().filter((pid) => isMarked(pid, mark))

/** How often one looks: what changes its number all the time is easily missed. */
const LOOKS = 4

/** Waits until nothing has the mark any more; gives what is left after the time. */
export async function survivors(mark: string, ms = 1_000): Promise<number[]> {
  let nothing = 0
  await eventually(() => {
    nothing = marked(mark).length === 0 ? nothing + 1 : 0
    return nothing === LOOKS
  }, ms)
  return nothing === LOOKS ? [] : marked(mark)
}

/** Ends what an unconfined attack has left, each as soon as it is seen: some are somebody else a moment later. */
export async function sweep(mark: string): Promise<void> {
  for (const end = performance.now() + 10_000; performance.now() < end; await pause(5)) {
    let left = 0
    for (const pid of latest()) {
      if (!isMarked(pid, mark)) continue
      left += 1
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended by itself.
      }
    }
    if (left === 0) return
  }
}

/** A process that is not mistaken for a later one with the same number. */
export interface Seen {
  pid: number
  began: string
}

/** All processes below one, with it. */
export function family(pid: number): Seen[] {
  const all = new Map(pids().map((one) => [one, statOf(one)]))
  const known = new Set([pid])
  for (let before = 0; before !== known.size;) {
    before = known.size
    for (const [one, stat] of all) if (stat !== undefined && known.has(stat.parent)) known.add(one)
  }
  return [...known].flatMap((one) => {
    const began = all.get(one)?.began
    return began === undefined ? [] : [{ pid: one, began }]
  })
}

/** What is still there of a family. What has ended is for whoever inherited it to collect. */
export const remaining = (seen: readonly Seen[]): string[] =>
  seen.flatMap(({ pid, began }) => {
    const stat = statOf(pid)
    return stat?.began === began && !hasEnded(pid) ? [`${pid} ${stat.state} of ${stat.parent}: ${read(`/proc/${pid}/comm`).trim()}`] : []
  })

/** The ended children of a process that it has not waited for. */
export const zombiesOf = (parent: number): number[] =>
  pids().filter((pid) => {
    const stat = statOf(pid)
    return stat?.parent === parent && stat.state === 'Z'
  })

/** The processes that see a mount with this text in its line. */
export const mountedIn = (text: string): number[] => pids().filter((pid) => read(`/proc/${pid}/mountinfo`).includes(text))

/** The control groups of this package whose names hold one of these numbers. */
export function controlGroups(numbers: readonly number[], directory = '/sys/fs/cgroup', depth = 5): string[] {
  if (depth === 0) return []
  let names: string[]
  try {
    names = readdirSync(directory)
  } catch {
    return []
  }
  return names.flatMap((name) => {
    const path = `${directory}/${name}`
    if (name.includes('.') || statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return []
    const own = name.startsWith('toolwright') && numbers.some((number) => name.includes(`-${number}-`)) ? [path] : []
    return [...own, ...controlGroups(numbers, path, depth - 1)]
  })
}
