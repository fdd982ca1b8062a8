// Whatever a public function takes or gives can be named by its users. The compiler is the test: `npm run check`.
import type {
  LockedToolId,
  RuntimeMcp,
  SkillArguments,
  SkillData,
  TaskArguments,
  TaskData,
  ToolRuntime,
  ToolSearchArguments,
  ToolSearchData,
} from 'toolwright/contract'
import { openThreadStore, type OpenThreadStoreOptions } from 'toolwright/standard-agents'

export const options: OpenThreadStoreOptions = { readOnly: true }
export const store = openThreadStore('memory:', options)

/** Arguments and data of the locked tools that the session serves by itself. */
export interface Served extends Partial<Record<LockedToolId, readonly [object, object]>> {
  skill: [SkillArguments, SkillData]
  task: [TaskArguments, TaskData]
  tool_search: [ToolSearchArguments, ToolSearchData]
}

export const servers = (runtime: ToolRuntime): RuntimeMcp => runtime.mcp
