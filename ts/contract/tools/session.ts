/** The tools that use what belongs to the session: its user, todos, skills, agents and hidden tools. */
import type { ContractTool } from '../registry/contract-tool.js'
import type { AskedQuestion, TaskArguments, TaskData, TaskFork, Todo, ToolMatch, TranscriptEntry } from '../registry/tool-runtime.js'
import { aCount, aText, dataSchemaOf, listOfTexts } from '../registry/output-schema.js'
import { parameters } from './parameters.js'

/** Arguments of `question`. */
export interface QuestionArguments {
  questions: AskedQuestion[]
}

/** The result of `question`: the answers to each question, in order. */
export interface QuestionData {
  answers: string[][]
}

/** Questions to the user; the run waits for the answers. */
export const questionTool: ContractTool<QuestionArguments, QuestionData> = {
  id: 'question',
  description: 'Ask the user one or more questions and wait for the answers. Use it when what you do next depends on the answer.',
  parameters: parameters(
    {
      questions: {
        type: 'array',
        minItems: 1,
        maxItems: 100,
        description: 'The questions, which are asked together',
        items: parameters(
          {
            question: { type: 'string', minLength: 1, description: 'The question, as the user reads it' },
            header: { type: 'string', description: 'A short title for the question' },
            options: {
              type: 'array',
              items: parameters({ label: { type: 'string', minLength: 1 }, description: { type: 'string' } }, ['label']),
              description: 'The choices; the user may also answer in their own words',
            },
            multi_select: { type: 'boolean', description: 'Whether the user may choose more than one option. Default false' },
          },
          ['question'],
        ),
      },
    },
    ['questions'],
  ),
  outputSchema: dataSchemaOf<QuestionData>({ answers: { type: 'array', items: listOfTexts } }, ['answers']),
  requires: {},
  kind: 'other',
  async execute({ questions }, { session }) {
    return { answers: await session.ask(questions) }
  },
}

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
  outputSchema: dataSchemaOf<TodoData>({ count: aCount }, ['count']),
  requires: {},
  kind: 'other',
  execute({ todos }, { session }) {
    session.todos.set(todos)
    return { count: todos.length }
  },
}

/** Arguments of `skill`. */
export interface SkillArguments {
  name: string
}

/** The result of `skill`: the skill's body between `<skill_content>` markers. */
export interface SkillData {
  content: string
}

/** The body of a skill. */
export const skillTool: ContractTool<SkillArguments, SkillData> = {
  id: 'skill',
  description: 'Load the instructions of a skill by name. The available skills are listed in the system prompt.',
  parameters: parameters({ name: { type: 'string', minLength: 1, maxLength: 200, description: 'The name of the skill' } }, ['name']),
  outputSchema: dataSchemaOf<SkillData>({ content: aText }, ['content']),
  requires: {},
  kind: 'think',
  async execute({ name }, { session }) {
    return { content: await session.skill(name) }
  },
}

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
  outputSchema: dataSchemaOf<TaskData>(
    {
      session_id: aText,
      output: aText,
      transcript: {
        type: 'array',
        items: dataSchemaOf<TranscriptEntry>(
          { tool: aText, call_id: aText, type: { type: 'string', enum: ['output', 'error'] }, error_text: aText },
          ['tool', 'call_id', 'type'],
        ),
      },
      fork: dataSchemaOf<TaskFork>(
        {
          id: { type: ['string', 'null'] },
          changes: {
            type: 'array',
            items: dataSchemaOf<TaskFork['changes'][number]>(
              { path: aText, kind: { type: 'string', enum: ['created', 'modified', 'deleted'] } },
              ['path', 'kind'],
            ),
          },
          more_changes: aCount,
          has_git_changes: { type: 'boolean' },
        },
        ['id', 'changes'],
      ),
    },
    ['session_id'],
  ),
  // Each call of the agent is judged by the parent's rules and its own.
  requires: {},
  kind: 'other',
  sideEffect: true,
  execute: (args, { session }) => session.task(args),
}

/** Arguments of `tool_search`. */
export interface ToolSearchArguments {
  query: string
}

/** The result of `tool_search`, best matches first. */
export interface ToolSearchData {
  matches: ToolMatch[]
}

/** Finds tools that are not listed. They can be called from the next step on. */
export const toolSearchTool: ContractTool<ToolSearchArguments, ToolSearchData> = {
  id: 'tool_search',
  description:
    'Search for more tools, from connected servers and extensions, by what they do. You can call the tools it finds from your next step on.',
  parameters: parameters(
    { query: { type: 'string', minLength: 1, maxLength: 1000, description: 'What the tool should do, in a few words' } },
    ['query'],
  ),
  outputSchema: dataSchemaOf<ToolSearchData>(
    { matches: { type: 'array', items: dataSchemaOf<ToolMatch>({ id: aText, description: aText }, ['id', 'description']) } },
    ['matches'],
  ),
  requires: {},
  kind: 'search',
  async execute({ query }, { session }) {
    return { matches: await session.searchTools(query) }
  },
}
