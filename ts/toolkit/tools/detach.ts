/** Processes of a set of tools that outlive it. */
import { invalid, string } from '../../core/options.js'
import type { ToolProcesses } from './tool-processes.js'

const processesOf = new WeakMap<object, ToolProcesses>()

/** Has the processes of a set found by the set. */
export function noteProcesses(tools: object, processes: ToolProcesses): void {
  processesOf.set(tools, processes)
}

/** @throws {ToolError} INVALID_INPUT for what is no set of tools with processes. */
function found(tools: object): ToolProcesses {
  const processes = typeof tools === 'object' && tools !== null ? processesOf.get(tools) : undefined
  if (processes === undefined) throw invalid('tools must be what createTools({ processes: true }) gave.')
  return processes
}

/**
 * Gives a process that a set of tools has started to an owner of this program, which is known by its name. It goes on when the set and the
 * run that started it end, until it is stopped, {@link endDetachedProcesses} ends its owner, or this program ends.
 *
 * @param owner a name of letters, digits, `_` and `-`.
 * @returns the id by which sets that resume it know it. In this set it has its first id.
 * @throws {ToolError} PROCESS_NOT_FOUND, PROCESS_ENDED, PROCESS_LIMIT, INVALID_INPUT.
 *
 * @example
 * ```ts
 * import { createTools, detachProcess, endDetachedProcesses, resumeProcesses } from 'toolwright'
 *
 * const first = createTools({ rootDir: '/srv/project', processes: true })
 * const { process_id } = await first.process_start.execute({ command: 'npm run dev' })
 * await detachProcess(first, process_id, 'dev')
 * await first[Symbol.asyncDispose]()
 *
 * const later = createTools({ rootDir: '/srv/project', processes: true })
 * const [id = ''] = resumeProcesses(later, 'dev') // dev.1
 * console.log(await later.process_read.execute({ process_id: id }))
 * await endDetachedProcesses('dev')
 * ```
 */
export async function detachProcess(tools: object, processId: string, owner: string): Promise<string> {
  return found(tools).table.detach(string(processId, 'processId'), string(owner, 'owner'))
}

/**
 * Has a set of tools use the processes of an owner: its tools read, answer and stop them by these ids. They still belong to their owner.
 *
 * @returns the ids.
 * @throws {ToolError} INVALID_INPUT
 */
export function resumeProcesses(tools: object, owner: string): string[] {
  return found(tools).table.resume(string(owner, 'owner'))
}
