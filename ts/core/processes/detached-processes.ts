/**
 * Processes that go on after the session or the set of tools that started them. Each belongs to an owner with a name, until that
 * one ends them; with this program they end in any case.
 */
import type { KeptProcess } from '../kept-process.js'
import { invalid } from '../options.js'
import type { ProcessRecord, TableEntry } from './process-entry.js'
import { alreadyDetached, tooMany } from './process-texts.js'

/** How many processes one owner has that run. */
const MAX_RUNNING = 32
/** How many that have ended are remembered, for whoever resumes them. */
const MAX_ENDED = 16
/** Names without the characters that separate them from the number of a process. */
const OWNER = /^[\w-]{1,64}$/u

/** A process of an owner. */
export interface DetachedProcess {
  readonly owner: string
  /** By which it is read, answered and stopped where it is resumed. */
  readonly id: string
  readonly command: string
  readonly isRunning: boolean
}

type Detached = Pick<TableEntry, 'id' | 'command' | 'process' | 'next' | 'isStderrApart' | 'secrets' | 'isInputClosed' | 'ended'>

class Owner {
  readonly processes = new Map<string, Detached>()
  readonly recording = new Set<Promise<void>>()
  count = 0

  forgetOldest(): void {
    const ended = [...this.processes.values()].filter(({ process }) => process.end !== undefined)
    for (const { id, process } of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) {
      process.closeFiles()
      this.processes.delete(id)
    }
  }
}

const owners = new Map<string, Owner>()

function checkOwner(name: string): void {
  if (typeof name === 'string' && OWNER.test(name)) return
  throw invalid('The owner of detached processes has a name of 1 to 64 letters, digits, _ and -.')
}

function ownerOf(name: string): Owner {
  checkOwner(name)
  const owner = owners.get(name) ?? new Owner()
  owners.set(name, owner)
  return owner
}

const runs = ({ process }: { process: KeptProcess }): boolean => process.end === undefined

/**
 * Gives a process to an owner, with a record that is completed with its end.
 *
 * @param letGo takes it from who had it; `false` if that one has it no more.
 * @returns the id by which it is resumed.
 * @throws {ToolError} PROCESS_LIMIT, PROCESS_ENDED; INVALID_INPUT for the name.
 */
export async function giveToOwner(name: string, entry: TableEntry, letGo: () => boolean): Promise<string> {
  const owner = ownerOf(name)
  const running = [...owner.processes.values()].filter(runs)
  if (running.length >= MAX_RUNNING) {
    throw tooMany(
      MAX_RUNNING,
      running.map(({ id }) => id),
    )
  }
  owner.count += 1
  const id = `${name}.${owner.count}`
  const record = await entry.makeRecord?.(id, entry.command)
  if (!letGo()) {
    const error = alreadyDetached(entry.id, entry.command)
    await record?.failed(error)
    throw error
  }
  entry.letGo?.()
  const { command, process, next, isStderrApart, secrets, isInputClosed, ended } = entry
  // The owner may have been ended meanwhile: what it gets from now on belongs to a new one of its name.
  const current = ownerOf(name)
  current.processes.set(id, { id, command, process, next, isStderrApart, secrets, isInputClosed, ended })
  const recorded = recordEnd(current, ended, record)
  current.recording.add(recorded)
  void recorded.finally(() => current.recording.delete(recorded))
  await entry.record?.detached(id)
  return id
}

async function recordEnd(owner: Owner, ended: Detached['ended'], record: ProcessRecord | undefined): Promise<void> {
  await record?.ended(await ended, false)
  owner.forgetOldest()
}

/** The processes of an owner. */
export const processesOf = (name: string): Detached[] => [...ownerOf(name).processes.values()]

/**
 * The processes that were given to an owner and not ended since, those that have ended by themselves last.
 *
 * @param owner only this one's. @default all of them
 * @throws `ToolError` INVALID_INPUT for an owner that is no text
 */
export function detachedProcesses(owner?: string): DetachedProcess[] {
  if (owner !== undefined) checkOwner(owner)
  const names = owner === undefined ? [...owners.keys()] : [owner]
  const all = names.flatMap((name) =>
    [...(owners.get(name)?.processes.values() ?? [])].map(({ id, command, process }) => ({
      owner: name,
      id,
      command,
      isRunning: process.end === undefined,
    })),
  )
  return [...all.filter(({ isRunning }) => isRunning), ...all.filter(({ isRunning }) => !isRunning)]
}

/** Ends the processes of an owner with everything that they have started, and waits until all of it is gone and recorded. */
export async function endDetachedProcesses(owner: string): Promise<void> {
  checkOwner(owner)
  const found = owners.get(owner)
  if (found === undefined) return
  owners.delete(owner)
  const all = [...found.processes.values()]
  await Promise.all(all.map(({ process }) => process.kill()))
  await Promise.all(found.recording)
  for (const { process } of all) process.closeFiles()
}
