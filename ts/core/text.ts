/** Texts on their way to the system: what it cannot take as it is, or need not see whole. */

/** Whether a text has whole characters only: half of a surrogate pair does not survive in UTF-8. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)

/** More than the paths of any system have; the addon refuses a path from 4,097 bytes on. */
const MAX_PATH_LENGTH = 5_000

/** The beginning of a path that is too long to be one: it is refused for its length, and not copied whole before. */
export const boundedPath = (path: string): string => (path.length > MAX_PATH_LENGTH ? path.slice(0, MAX_PATH_LENGTH) : path)

/** The beginning of a text, without half a character at its end. */
export const beginningOf = (text: string, length: number): string => Buffer.from(text.slice(0, length)).toString()
