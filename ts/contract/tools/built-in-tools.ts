import type { ContractTool } from '../registry/contract-tool.js'
import { bashTool, type BashArguments, type BashData } from './bash.js'
import { editTool, type EditArguments, type EditData } from './edit.js'
import { readTool, type ReadArguments, type ReadData } from './read.js'
import { globTool, type GlobArguments, type GlobData, grepTool, type GrepArguments, type GrepData } from './searches.js'
import {
  questionTool,
  type QuestionArguments,
  type QuestionData,
  skillTool,
  type SkillArguments,
  type SkillData,
  taskTool,
  todoTool,
  type TodoArguments,
  type TodoData,
  toolSearchTool,
  type ToolSearchArguments,
  type ToolSearchData,
} from './session.js'
import {
  webFetchTool,
  type WebFetchArguments,
  type WebFetchData,
  webSearchTool,
  type WebSearchArguments,
  type WebSearchData,
} from './web.js'
import { writeTool, type WriteArguments, type WriteData } from './write.js'
import { checked, invalid } from '../../core/options.js'
import type { TaskArguments, TaskData, ToolRuntime } from '../registry/tool-runtime.js'
import type { Tool } from 'ai'
import type { Envelope } from '../registry/envelope.js'

/** The arguments and the results of the locked tools, by id. */
interface BuiltIn {
  bash: [BashArguments, BashData]
  edit: [EditArguments, EditData]
  glob: [GlobArguments, GlobData]
  grep: [GrepArguments, GrepData]
  question: [QuestionArguments, QuestionData]
  read: [ReadArguments, ReadData]
  skill: [SkillArguments, SkillData]
  task: [TaskArguments, TaskData]
  todo: [TodoArguments, TodoData]
  tool_search: [ToolSearchArguments, ToolSearchData]
  web_fetch: [WebFetchArguments, WebFetchData]
  web_search: [WebSearchArguments, WebSearchData]
  write: [WriteArguments, WriteData]
}

/** The arguments of the locked tools, by id. */
export type BuiltInArguments = { [ID in keyof BuiltIn]: BuiltIn[ID][0] }

/** The results of the locked tools, by id. */
export type BuiltInData = { [ID in keyof BuiltIn]: BuiltIn[ID][1] }

/** The tools with locked ids that every session has. */
export const lockedTools: readonly ContractTool[] = Object.freeze(
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
  ].map((tool) => Object.freeze(tool)),
)

/** The same tools for direct calls, which can be made with anything. */
export const builtInTools: readonly ContractTool[] = Object.freeze(
  lockedTools.map((tool) =>
    Object.freeze({ ...tool, execute: (args, runtime) => executeDirectly(tool, args, runtime) } satisfies ContractTool),
  ),
)

/** @throws {ToolError} INVALID_INPUT without an object of arguments, and without the runtime of a session. */
export function executeDirectly(tool: ContractTool, args: object, runtime: ToolRuntime): unknown {
  checked(`${tool.id}.execute`, () => {
    if (typeof args !== 'object' || args === null) throw invalid('The arguments must be an object.')
    if (typeof runtime?.fs === 'object' && typeof runtime.session === 'object') return
    throw invalid('A tool is called with the runtime of a session: by session.call, or with a recordingRuntime.')
  })
  return tool.execute(args, runtime)
}

/** The data of a success of the tool with this id; `unknown` for tools of one's own and for ids that are not known beforehand. */
export type ToolData<ID extends string> = ID extends keyof BuiltInData ? BuiltInData[ID] : unknown

/**
 * The tools of a session for the AI SDK, with the types of the locked ones: `InferUITools<Session['tools']>` gives
 * the parts of a user interface. Own tools and those of servers are in the same object, and a locked one may be missing that
 * has nothing behind it or that the host has left out; `session.tools as ToolSet` is the type that says so.
 */
export type SessionToolSet = { [ID in keyof BuiltInData]: Tool<BuiltInArguments[ID], Envelope<BuiltInData[ID]>> }
