/** What a model reads of a file that was formatted: the lines that differ, as they are now. */

/** More lines are read by the model itself. */
const MAX_LINES = 40

/** A sentence in parentheses, and the lines with their numbers. */
export function formattedNote(formatter: string, path: string, before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')]
  const shortest = Math.min(old.length, now.length)
  let first = 0
  while (first < shortest && old[first] === now[first]) first += 1
  let same = 0
  while (same < shortest - first && old.at(-1 - same) === now.at(-1 - same)) same += 1
  const changed = now.slice(first, now.length - same)
  const where = `${formatter} has formatted ${path}`
  if (changed.length === 0) return `(${where}: lines after line ${first} are gone, and it has ${now.length} lines.)`
  const last = first + changed.length
  const lines = first + 1 === last ? `Line ${last} is` : `Lines ${first + 1} to ${last} are`
  if (changed.length > MAX_LINES)
    return `(${where}. ${lines.replace(/ (?:is|are)$/u, '')} may differ from what was written: read them before the next edit.)`
  return `(${where}. ${lines} now:)\n${changed.join('\n')}`
}

/** The sentence for a file that was not formatted. */
export const notFormattedNote = (formatter: string, path: string, why: string): string =>
  `(${path} was not formatted: ${formatter}: ${why})`
