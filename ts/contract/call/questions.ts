import type { AskedQuestion } from '../registry/tool-runtime.js'
import { ContractFailure } from '../registry/envelope.js'

/** The failure of `question` without a user. It is the same for every call. */
export const QUESTION_HEADLESS_MESSAGE =
  'question is unavailable: no interactive user is attached. Continue with your best assumption and state it.'

/**
 * Checks the host's answers: an array of texts for each question, in order, with at most one text where one may be
 * chosen.
 *
 * @throws {ContractFailure} invalid_answer
 */
export function checkAnswers(questions: readonly AskedQuestion[], answers: unknown): string[][] {
  const wrong = (why: string): Error =>
    new ContractFailure('invalid_answer', `The host's answer does not fit: ${why}. Continue with your best assumption and state it.`)
  if (!Array.isArray(answers)) throw wrong('it is no array of arrays of texts')
  if (answers.length !== questions.length) throw wrong(`${questions.length} questions, ${answers.length} answers`)
  return questions.map(({ multi_select }, index) => {
    const answer: unknown = (answers as unknown[])[index]
    if (!Array.isArray(answer) || !answer.every((text) => typeof text === 'string')) {
      throw wrong(`answer ${index + 1} is no array of texts`)
    }
    if (multi_select !== true && answer.length > 1) throw wrong(`answer ${index + 1} chooses ${answer.length}, one is allowed`)
    return [...(answer as string[])]
  })
}
