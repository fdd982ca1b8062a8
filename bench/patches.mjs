/** Lines of context on either side of a hunk. */
const CONTEXT = 3

/**
 * The same text with `count` lines of it changed, and the unified diffs there and back.
 * @param {string[]} lines
 * @param {number} count hunks; there must be eight lines for each
 */
export function changeLines(lines, count) {
  const gap = Math.floor(lines.length / count)
  if (gap < 2 * CONTEXT + 2) throw new RangeError('hunks would touch each other')
  const changed = [...lines]
  const there = []
  const back = []
  for (let hunk = 0; hunk < count; hunk += 1) {
    const at = hunk * gap + CONTEXT
    changed[at] = `  // line ${at + 1} was changed`
    const before = lines.slice(at - CONTEXT, at).map((line) => ` ${line}`)
    const after = lines.slice(at + 1, at + 1 + CONTEXT).map((line) => ` ${line}`)
    const size = before.length + 1 + after.length
    const header = `@@ -${at - CONTEXT + 1},${size} +${at - CONTEXT + 1},${size} @@`
    there.push(header, ...before, `-${lines[at]}`, `+${changed[at]}`, ...after)
    back.push(header, ...before, `-${changed[at]}`, `+${lines[at]}`, ...after)
  }
  const diff = (hunks) => `--- a/file\n+++ b/file\n${hunks.join('\n')}\n`
  return { changed, there: diff(there), back: diff(back) }
}
