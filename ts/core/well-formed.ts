/** Whether a text has whole characters only: half of a surrogate pair does not survive in UTF-8. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)
