import type { TaskArguments, TaskData } from '../agents/task-data.js'
import type { ContractTool } from '../contract-tool.js'
import { parameters } from './parameters.js'

/** Hands a task to another agent. */
export const taskTool: ContractTool<TaskArguments, TaskData> = {
  id: 'task',
  description:
    'Hand a task to a subagent, which starts afresh and sees nothing but the prompt. It gives its final answer; with background it works on meanwhile, and the answer comes later.',
  parameters: parameters(
    {
      subagent_type: { type: 'string', minLength: 1, maxLength: 200, description: 'The name of the agent' },
      prompt: { type: 'string', minLength: 1, description: 'The whole task, with all that the agent has to know' },
      background: { type: 'boolean', description: 'Whether to go on at once. Default false' },
      metadata: { type: 'object', description: 'Anything that the host is to keep with it' },
    },
    ['subagent_type', 'prompt'],
  ),
  // What the agent does is judged call by call, with the parent's rules and its own.
  requires: {},
  kind: 'other',
  sideEffect: true,
  execute: (args, { session }) => session.task(args),
}
