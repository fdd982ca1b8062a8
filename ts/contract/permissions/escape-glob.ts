/** A text as a pattern that matches it and nothing else. */
export const escapeGlob = (text: string): string => text.replace(/[*?[\]{}\\]/gu, '\\$&')
