import type { ContractTool } from '../contract-tool.js'
import type { Todo } from '../todos.js'
import { parameters } from './parameters.js'

/** Arguments of `todo`. */
export interface TodoArguments {
  todos: Todo[]
}

/** What `todo` gives. */
export interface TodoData {
  count: number
}

/** The session's todo list, replaced as a whole. */
export const todoTool: ContractTool<TodoArguments, TodoData> = {
  id: 'todo',
  description: 'Write the todo list of this session. It replaces the list before; an empty list clears it.',
  parameters: parameters(
    {
      todos: {
        type: 'array',
        maxItems: 1000,
        items: parameters(
          {
            content: { type: 'string', minLength: 1, description: 'What is to be done' },
            status: { enum: ['pending', 'in_progress', 'completed'] },
            active_form: { type: 'string', minLength: 1, description: 'What is being done meanwhile, e.g. Running the tests' },
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
