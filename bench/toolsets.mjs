import { dirname, delimiter } from 'node:path'
import { pathToFileURL } from 'node:url'

/** As the AI SDK calls a tool. */
const CALL = { toolCallId: 'call', messages: [] }
/** What is large, and loaded by the one workload that has it. */
const LOADED_LATER = new Set(['mastra'])

/**
 * The tools of one package in one task's context. Both packages are called in the same way: as a
 * workflow engine does it, with a context around the call and `execute` of the AI SDK's tool.
 * @typedef {(tool: 'read' | 'write' | 'edit' | 'grep' | 'bash', args: object) => Promise<any>} Toolset
 */

/**
 * Loads ours and every peer that is installed and can be loaded here.
 * @param {Record<string, { entry?: string, problem?: string }>} installed
 */
export async function loadContenders(installed) {
  const loaded = {}
  const problems = {}
  for (const [name, { entry, problem }] of Object.entries(installed)) {
    if (entry === undefined) problems[name] = problem
    else if (LOADED_LATER.has(name)) continue
    else if (name === 'pi' && process.versions.bun === undefined) problems[name] = 'loads under Bun only'
    else {
      try {
        loaded[name] = await import(pathToFileURL(entry).href)
      } catch (error) {
        problems[name] = `cannot be loaded: ${String(error.message).split('\n')[0]}`
      }
    }
  }
  // The original's grep is whatever `rg` is found first.
  if (loaded.rg) process.env.PATH = dirname(loaded.rg.rgPath) + delimiter + process.env.PATH
  const ours = await import('toolwright')
  return {
    problems,
    diff: loaded.diff,
    pi: loaded.pi,
    floor: loaded.floor,
    rgPath: loaded.rg?.rgPath,
    /** @param {object} context @returns {Record<string, Toolset>} ours, and the original's if it is there */
    toolsets(context) {
      const sets = { ours: inContext(ours, context) }
      if (loaded.smithers) sets.smithers = inContext(loaded.smithers, context)
      return sets
    },
  }
}

/** @returns {Toolset} */
function inContext({ tools, runWithToolContext }, context) {
  const task = { runId: 'bench', nodeId: 'bench', ...context }
  return (tool, args) => runWithToolContext(task, () => tools[tool].execute(args, CALL))
}
