import type { TaskArguments, TaskData } from '../registry/tool-runtime.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { parameters } from './parameters.js'

/** Hands a task to another agent. */
export const taskTool: ContractTool<TaskArguments, TaskData> = {
  id: 'task',
  description:
    'Hand a task to a subagent. It starts with an empty context and sees only prompt; its final answer is the result. With background: true the call returns at once, and the answer arrives in a later message.',
  parameters: parameters(
    {
      subagent_type: { type: 'string', minLength: 1, maxLength: 200, description: 'The name of the agent' },
      prompt: { type: 'string', minLength: 1, description: 'The complete task, with everything the agent needs to know' },
      background: { type: 'boolean', description: 'Return at once, without waiting for the answer. Default false' },
      metadata: { type: 'object', description: 'Data that the host keeps with the task; the agent does not see it' },
    },
    ['subagent_type', 'prompt'],
  ),
  // Each call of the agent is judged by the parent's rules and its own.
  requires: {},
  kind: 'other',
  sideEffect: true,
  execute: (args, { session }) => session.task(args),
}
