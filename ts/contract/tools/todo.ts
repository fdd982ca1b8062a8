import type { ContractTool } from '../registry/contract-tool.js'
import type { Todo } from '../registry/tool-runtime.js'
import { parameters } from './parameters.js'

/** Arguments of `todo`. */
export interface TodoArguments {
  todos: Todo[]
}

/** The result of `todo`. */
export interface TodoData {
  count: number
}

/** The session's todo list, replaced as a whole. */
export const todoTool: ContractTool<TodoArguments, TodoData> = {
  id: 'todo',
  description: 'Write the todo list of this session. Each call replaces the whole list; an empty array clears it.',
  parameters: parameters(
    {
      todos: {
        type: 'array',
        maxItems: 1000,
        description: 'The whole list, in order',
        items: parameters(
          {
            content: { type: 'string', minLength: 1, description: 'The task, for example Run the tests' },
            status: { type: 'string', enum: ['pending', 'in_progress', 'completed'] },
            active_form: { type: 'string', minLength: 1, description: 'The task while it is in progress, for example Running the tests' },
          },
          ['content', 'status'],
        ),
      },
    },
    ['todos'],
  ),
  requires: {},
  kind: 'other',
  execute({ todos }, { session }) {
    session.todos.set(todos)
    return { count: todos.length }
  },
}
