import type { ContractTool } from './contract-tool.js'
import { bashTool } from './tools/bash.js'
import { editTool } from './tools/edit.js'
import { globTool } from './tools/glob.js'
import { grepTool } from './tools/grep.js'
import { questionTool } from './tools/question.js'
import { readTool } from './tools/read.js'
import { skillTool } from './tools/skill.js'
import { taskTool } from './tools/task.js'
import { todoTool } from './tools/todo.js'
import { webFetchTool } from './tools/web-fetch.js'
import { webSearchTool } from './tools/web-search.js'
import { toolSearchTool } from './tools/tool-search.js'
import { writeTool } from './tools/write.js'

/** The tools with locked ids that every session has. */
export const builtInTools: readonly ContractTool[] = Object.freeze(
  [readTool, writeTool, editTool, globTool, grepTool, bashTool, todoTool, taskTool, skillTool, toolSearchTool, questionTool, webFetchTool, webSearchTool()].map((tool) => Object.freeze(tool)),
)
