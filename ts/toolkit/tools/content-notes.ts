/** Notes on texts that are written and were most likely meant otherwise: what surrounds a file elsewhere is a part of it now. */

/** Files that may well be a code block alone. */
const prose = /\.(?:md|mdx|markdown|rst|txt|adoc)$/iu
/** Files that are patches. */
const patches = /\.(?:patch|diff|rej|orig)$/iu
/** Files in which `\n` as two characters is common in a line. */
const escaped = /\.(?:jsonl?|ndjson|ipynb|map|lock|csv|tsv|properties|po|min\.js)$|(?:^|\/)\.env[^/]*$/iu

const fence = /^\s*(```+|~~~+)[^\n`]*\n[\s\S]*\n?\1\s*$/u
const patchBegin = /^\s*(?:diff --git |\*\*\* Begin Patch|--- [^\n]*\n\+\+\+ [^\n]*\n@@ )/u
/** A line of a listing. */
const numberedLine = /^ *(\d+)(?:\t|: |\| ?|→)/u

/** Longer texts are taken as they are. */
const MAX_LENGTH = 2_000_000

/** What the writer of a file should know of its content, as a sentence in parentheses. */
export function contentNote({ path, content }: { path: string; content: string }): string | undefined {
  if (content.length > MAX_LENGTH) return undefined
  if (!prose.test(path) && fence.test(content))
    return '(The file begins and ends with a code fence (```), which is a part of it now: write it again without, if it is none.)'
  if (!patches.test(path) && patchBegin.test(content))
    return '(The content is a patch, and is the text of the file now: edit applies a patch to a file.)'
  if (hasNumbers(content)) return '(Every line begins with its line number, as in a listing: write the file again without the numbers.)'
  if (!escaped.test(path) && isOneEscapedLine(content))
    return String.raw`(The file is one line, in which \n stands as two characters: send line breaks as they are.)`
  return undefined
}

/** Whether the lines begin with numbers one after the other. */
function hasNumbers(content: string): boolean {
  const lines = content.split('\n').filter((line) => line.trim() !== '')
  const numbers = lines.map((line) => Number(numberedLine.exec(line)?.[1] ?? Number.NaN))
  const [first = Number.NaN] = numbers
  return lines.length > 2 && numbers.every((number, index) => number >= first + index && number <= first + 2 * index + 1)
}

/** Whether a text of several statements is one line. A text in quotes has such an escape as well. */
function isOneEscapedLine(content: string): boolean {
  const line = content.trim()
  if (line.includes('\n')) return false
  const outside = line.replaceAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/gu, '')
  return (outside.match(/\\n/gu) ?? []).length >= 2
}
