import type { TaskData } from './agents/task-data.js'
import type { BashData } from './tools/bash.js'
import type { EditData } from './tools/edit.js'
import type { GlobData } from './tools/glob.js'
import type { GrepData } from './tools/grep.js'
import type { QuestionData } from './tools/question.js'
import type { ReadData } from './tools/read.js'
import type { SkillData } from './tools/skill.js'
import type { TodoData } from './tools/todo.js'
import type { ToolSearchData } from './tools/tool-search.js'
import type { WebFetchData } from './tools/web-fetch.js'
import type { WebSearchData } from './tools/web-search.js'
import type { WriteData } from './tools/write.js'

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
