import { expect } from 'vitest'

/** What is thrown for input that makes no sense. */
export const refused = (summary: RegExp) => expect.objectContaining({ code: 'INVALID_INPUT', summary: expect.stringMatching(summary) })

/** What some work gives, or throws. */
export const attempt = async (work: () => unknown): Promise<unknown> => {
  try {
    return await work()
  } catch (error) {
    return error
  }
}
