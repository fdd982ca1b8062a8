import { checked, invalid, optional, parseOptions, text } from '../../core/options.js'
import { ContractFailure } from '../registry/envelope.js'
import type { AskedQuestion } from '../registry/tool-runtime.js'

interface Choice {
  const: string
  title: string
}

/** A field of the form. */
export type AcpFormField =
  | { type: 'string'; title: string; description?: string; oneOf?: Choice[] }
  | { type: 'array'; title: string; description?: string; items: { anyOf: Choice[] } }

/** Questions as a form, a request `elicitation/create` of both versions. */
export interface AcpElicitationRequest {
  mode: 'form'
  sessionId: string
  toolCallId?: string
  message: string
  requestedSchema: { type: 'object'; properties: Record<string, AcpFormField> }
}

/** The client's answer. */
export interface AcpElicitationResponse {
  action: string
  content?: Record<string, unknown> | null | undefined
}

const nameOf = (index: number): string => `question_${index + 1}`
/** The name of the field for the user's own words, beside a choice. */
const ownNameOf = (index: number): string => `question_${index + 1}_other`

/**
 * Questions of the tool `question` as a form: a choice for each that has options, with a field for the user's own words.
 *
 * @throws {ToolError} INVALID_INPUT
 */
export function toAcpElicitation(
  questions: readonly AskedQuestion[],
  where: { sessionId: string; toolCallId?: string | undefined },
): AcpElicitationRequest {
  const { sessionId, toolCallId } = parseOptions('toAcpElicitation', where, { sessionId: text, toolCallId: optional(text) })
  checkQuestions('toAcpElicitation', questions)
  const properties: Record<string, AcpFormField> = {}
  for (const [index, { question, header = question, options = [], multi_select: many }] of questions.entries()) {
    const name = { title: header, ...(header === question ? {} : { description: question }) }
    const choices = options.map(({ label, description }) => ({
      const: label,
      title: description === undefined ? label : `${label}: ${description}`,
    }))
    if (choices.length === 0) properties[nameOf(index)] = { type: 'string', ...name }
    else {
      properties[nameOf(index)] =
        many === true ? { type: 'array', ...name, items: { anyOf: choices } } : { type: 'string', ...name, oneOf: choices }
      properties[ownNameOf(index)] = { type: 'string', title: `${header} (in your own words)` }
    }
  }
  const [only] = questions
  const message = questions.length === 1 && only !== undefined ? only.question : `${questions.length} questions`
  return {
    mode: 'form',
    sessionId,
    ...(toolCallId === undefined ? {} : { toolCallId }),
    message,
    requestedSchema: { type: 'object', properties },
  }
}

/**
 * Converts a client's answers to `questions`, for `host.question`. A value that does not fit its question counts as no answer.
 *
 * @throws {ToolError} INVALID_INPUT for invalid questions.
 * @throws {ContractFailure} question_unavailable if the user declined, or the client answered with something else.
 */
export function fromAcpElicitation(response: AcpElicitationResponse, questions: readonly AskedQuestion[]): string[][] {
  checkQuestions('fromAcpElicitation', questions)
  const { action, content } = (response ?? {}) as AcpElicitationResponse
  if (action !== 'accept') {
    throw new ContractFailure('question_unavailable', 'The user did not answer. Continue with your best assumption and state it.')
  }
  const answers = typeof content === 'object' && content !== null ? content : {}
  return questions.map(({ multi_select: many }, index) => {
    const own = [answers[ownNameOf(index)]].filter(isAnswer)
    const chosen = [answers[nameOf(index)]].flat().filter(isAnswer)
    // If only one answer is allowed, the user's own words take precedence.
    return many === true ? [...chosen, ...own] : [...own, ...chosen].slice(0, 1)
  })
}

function checkQuestions(caller: string, questions: unknown): void {
  const isQuestion = (value: unknown): boolean => typeof (value as Partial<AskedQuestion> | null)?.question === 'string'
  checked(caller, () => {
    if (!Array.isArray(questions) || !questions.every(isQuestion)) throw invalid('questions must be an array of questions.')
  })
}

const isAnswer = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''
