import type { ContractTool } from '../registry/contract-tool.js'
import type { AskedQuestion } from '../registry/tool-runtime.js'
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
  requires: {},
  kind: 'other',
  async execute({ questions }, { session }) {
    return { answers: await session.ask(questions) }
  },
}
