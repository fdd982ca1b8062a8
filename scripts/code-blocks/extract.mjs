/**
 * The fenced code blocks of a Markdown text, in order. A block whose first line is a comment with a path
 * (`// app/page.tsx`) is that file of the page's program; blocks of one page can import each other so.
 *
 * @param {string} text
 */
export function codeBlocks(text) {
  return [...text.matchAll(/^```(\w+)[^\n]*\n([^]*?)^```$/gm)].map((match) => {
    const [, language = '', code = ''] = match
    return {
      language,
      code,
      /** The line of the page on which the code begins, from 1. */
      line: text.slice(0, match.index).split('\n').length + 1,
      path: /^\/\/ ([\w./[\]-]+\.[cm]?[jt]sx?)\n/.exec(code)?.[1],
    }
  })
}
