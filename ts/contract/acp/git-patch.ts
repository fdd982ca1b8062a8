/** Writes a change of one file with both texts in git's form. */
export interface TextChange {
  change: 'add' | 'update' | 'delete' | 'move'
  /** The path relative to the root of the workspace; after a move, the new path. */
  path: string
  oldPath: string
  before: string
  after: string
}

/** The number of context lines around a change. */
const CONTEXT = 3

/**
 * Makes a patch that `git apply` takes. Each file has one hunk, from the first line that differs to the last.
 */
export const gitPatch = (changes: readonly TextChange[]): string => changes.map(filePatch).join('')

function filePatch({ change, path, oldPath, before, after }: TextChange): string {
  const [from, to] = [quoted(`a/${oldPath}`), quoted(`b/${path}`)]
  const head = [`diff --git ${from} ${to}`]
  if (change === 'add') head.push('new file mode 100644')
  if (change === 'delete') head.push('deleted file mode 100644')
  if (change === 'move') head.push(`rename from ${quoted(oldPath)}`, `rename to ${quoted(path)}`)
  const hunk = before === after ? [] : hunkOf(linesOf(before), linesOf(after))
  if (hunk.length > 0) head.push(`--- ${change === 'add' ? '/dev/null' : from}`, `+++ ${change === 'delete' ? '/dev/null' : to}`)
  return `${[...head, ...hunk].join('\n')}\n`
}

function hunkOf(old: readonly string[], now: readonly string[]): string[] {
  const shorter = Math.min(old.length, now.length)
  let first = 0
  while (first < shorter && old[first] === now[first]) first += 1
  let last = 0
  while (last < shorter - first && old.at(-1 - last) === now.at(-1 - last)) last += 1
  const start = Math.max(0, first - CONTEXT)
  const oldEnd = Math.min(old.length, old.length - last + CONTEXT)
  const nowEnd = Math.min(now.length, now.length - last + CONTEXT)
  const range = (from: number, end: number): string => `${end === from ? from : from + 1},${end - from}`
  return [
    `@@ -${range(start, oldEnd)} +${range(start, nowEnd)} @@`,
    ...old.slice(start, first).flatMap((line) => written(' ', line)),
    ...old.slice(first, old.length - last).flatMap((line) => written('-', line)),
    ...now.slice(first, now.length - last).flatMap((line) => written('+', line)),
    ...old.slice(old.length - last, oldEnd).flatMap((line) => written(' ', line)),
  ]
}

/** Lines with their line breaks. The last line may have none. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/gu) ?? []

const written = (mark: string, line: string): string[] =>
  line.endsWith('\n') ? [mark + line.slice(0, -1)] : [mark + line, '\\ No newline at end of file']

/** Quotes a name with unusual characters as git does. */
function quoted(name: string): string {
  if (!/["\\\p{Cc}]/u.test(name)) return name
  const bytes = [...Buffer.from(name)].map((byte) => {
    if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCodePoint(byte)}`
    return byte < 0x20 || byte > 0x7e ? `\\${byte.toString(8).padStart(3, '0')}` : String.fromCodePoint(byte)
  })
  return `"${bytes.join('')}"`
}
