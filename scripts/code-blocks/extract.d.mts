/** A fenced code block of a Markdown page. */
export interface CodeBlock {
  language: string
  code: string
  /** The line of the page on which the code begins, from 1. */
  line: number
  /** The file that the block is, where its first line says so. */
  path: string | undefined
}

export function codeBlocks(text: string): CodeBlock[]
