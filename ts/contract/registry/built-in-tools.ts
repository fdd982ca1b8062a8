import { checked, invalid } from '../../core/options.js'
import type { ContractTool } from './contract-tool.js'
import { bashTool } from '../tools/bash.js'
import { editTool } from '../tools/edit.js'
import { globTool } from '../tools/glob.js'
import { grepTool } from '../tools/grep.js'
import { questionTool } from '../tools/question.js'
import { readTool } from '../tools/read.js'
import { skillTool } from '../tools/skill.js'
import { taskTool } from '../tools/task.js'
import { todoTool } from '../tools/todo.js'
import { webFetchTool } from '../tools/web-fetch.js'
import { webSearchTool } from '../tools/web-search.js'
import { toolSearchTool } from '../tools/tool-search.js'
import type { ToolRuntime } from './tool-runtime.js'
import { writeTool } from '../tools/write.js'

/** The tools with locked ids that every session has. */
export const builtInTools: readonly ContractTool[] = Object.freeze(
  [
    readTool,
    writeTool,
    editTool,
    globTool,
    grepTool,
    bashTool,
    todoTool,
    taskTool,
    skillTool,
    toolSearchTool,
    questionTool,
    webFetchTool,
    webSearchTool(),
  ].map((tool) => Object.freeze(checkedTool(tool))),
)

/** A session validates the arguments, and gives a runtime; a direct call may give anything. */
function checkedTool(tool: ContractTool): ContractTool {
  return {
    ...tool,
    execute: (args: object, runtime: ToolRuntime) => {
      const given = checked(`${tool.id}.execute`, () => {
        checkParts(args, runtime)
        return { ...args }
      })
      return tool.execute(given, runtime)
    },
  }
}

/** @throws {ToolError} INVALID_INPUT */
function checkParts(args: unknown, runtime: unknown): void {
  if (typeof args !== 'object' || args === null) throw invalid('The arguments must be an object.')
  const { fs, shell, net, session } = (runtime ?? {}) as Partial<ToolRuntime>
  if ([fs, shell, net, session].every((part) => typeof part === 'object')) return
  throw invalid('A tool is called with the runtime of a session: by session.call, or with a recordingRuntime.')
}
