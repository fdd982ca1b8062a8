import { checked, invalid } from '../../core/options.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { bashTool, type BashArguments, type BashData } from './bash.js'
import { editTool, type EditArguments, type EditData } from './edit.js'
import { globTool, type GlobArguments, type GlobData } from './glob.js'
import { grepTool, type GrepArguments, type GrepData } from './grep.js'
import { questionTool, type QuestionArguments, type QuestionData } from './question.js'
import { readTool, type ReadArguments, type ReadData } from './read.js'
import { skillTool, type SkillArguments, type SkillData } from './skill.js'
import { taskTool } from './task.js'
import { todoTool, type TodoArguments, type TodoData } from './todo.js'
import { webFetchTool, type WebFetchArguments, type WebFetchData } from './web-fetch.js'
import { webSearchTool, type WebSearchArguments, type WebSearchData } from './web-search.js'
import { toolSearchTool, type ToolSearchArguments, type ToolSearchData } from './tool-search.js'
import type { ToolRuntime, TaskArguments, TaskData } from '../registry/tool-runtime.js'
import { writeTool, type WriteArguments, type WriteData } from './write.js'
import type { Tool } from 'ai'
import type { Envelope } from '../registry/envelope.js'

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

/** Checks direct calls. A session validates the arguments and passes a runtime; a direct call may pass anything. */
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

/** The results of the locked tools, by id. */
export interface BuiltInData {
  bash: BashData
  edit: EditData
  glob: GlobData
  grep: GrepData
  question: QuestionData
  read: ReadData
  skill: SkillData
  task: TaskData
  todo: TodoData
  tool_search: ToolSearchData
  web_fetch: WebFetchData
  web_search: WebSearchData
  write: WriteData
}

/** The data of a success of the tool with this id; `unknown` for tools of one's own and for ids that are not known beforehand. */
export type ToolData<ID extends string> = ID extends keyof BuiltInData ? BuiltInData[ID] : unknown

/** The arguments of the locked tools, by id. */
export interface BuiltInArguments {
  bash: BashArguments
  edit: EditArguments
  glob: GlobArguments
  grep: GrepArguments
  question: QuestionArguments
  read: ReadArguments
  skill: SkillArguments
  task: TaskArguments
  todo: TodoArguments
  tool_search: ToolSearchArguments
  web_fetch: WebFetchArguments
  web_search: WebSearchArguments
  write: WriteArguments
}

/**
 * The tools of a session for the AI SDK, with the types of the locked ones: `InferUITools<Session['tools']>` gives
 * the parts of a user interface. Own tools and those of servers are in the same object, and a locked one may be missing that
 * has nothing behind it or that the host has left out; `session.tools as ToolSet` is the type that says so.
 */
export type SessionToolSet = { [ID in keyof BuiltInData]: Tool<BuiltInArguments[ID], Envelope<BuiltInData[ID]>> }
