import type { Tool } from 'ai'
import type { TaskArguments, TaskData } from '../agents/task-data.js'
import type { Envelope } from '../call/envelope.js'
import type { BashArguments, BashData } from '../tools/bash.js'
import type { EditArguments, EditData } from '../tools/edit.js'
import type { GlobArguments, GlobData } from '../tools/glob.js'
import type { GrepArguments, GrepData } from '../tools/grep.js'
import type { QuestionArguments, QuestionData } from '../tools/question.js'
import type { ReadArguments, ReadData } from '../tools/read.js'
import type { SkillArguments, SkillData } from '../tools/skill.js'
import type { TodoArguments, TodoData } from '../tools/todo.js'
import type { ToolSearchArguments, ToolSearchData } from '../tools/tool-search.js'
import type { WebFetchArguments, WebFetchData } from '../tools/web-fetch.js'
import type { WebSearchArguments, WebSearchData } from '../tools/web-search.js'
import type { WriteArguments, WriteData } from '../tools/write.js'

/** What the locked tools give, by id. */
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

/** What the locked tools take, by id. */
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
 * The tools of a session as the AI SDK takes them, with the types of the locked ones: `InferUITools<Session['tools']>` gives
 * the parts of a user interface. Own tools and those of servers are in the same object, and a locked one may be missing that
 * has nothing behind it or that the host has left out; `session.tools as ToolSet` is the type that says so.
 */
export type SessionToolSet = { [ID in keyof BuiltInData]: Tool<BuiltInArguments[ID], Envelope<BuiltInData[ID]>> }
