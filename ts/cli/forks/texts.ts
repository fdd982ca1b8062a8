/** What `toolwright try` and `toolwright forks` print. */
import { joined, painted as withColour, type Part, shown, shownLines, type TerminalText } from '../../core/terminal.js'
import { wantsColours } from '../calls/timeline.js'
import type { AppliedFork, CollectedForks, ForkChange, ForkDiff, ForkLeftOut, ForkStatus, ListedFork, UndoneFork } from '../../fork/fork.js'

const SIGNS = { created: '+', modified: '~', deleted: '-' } as const
const COLORS = { created: 'green', modified: 'yellow', deleted: 'red' } as const

function painted(look: Parameters<typeof withColour>[0], text: Part): TerminalText {
  return wantsColours(process.stdout, process.env) ? withColour(look, text) : shown`${text}`
}

/** The most paths of things that are never applied that are named. */
const MAX_LEFT_OUT = 10

const WORDS: Record<NonNullable<ForkChange['conflict']>, string> = {
  'base-changed': 'changed in the directory since',
  'base-created': 'made in the directory since',
  'base-deleted': 'deleted in the directory since',
  'file-or-directory': 'a file on one side and a directory on the other',
  name: 'its name is not UTF-8',
}

const REASONS: Record<ForkLeftOut['reason'], string> = {
  git: 'a git directory, which is never applied',
  special: 'a pipe, socket or device',
  unreadable: 'not readable',
  protected: 'editors or agents obey it; name it to apply it',
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

export function changeLine({ path, kind, type, conflict, isProtected, isMerged }: ForkChange): TerminalText {
  const obeyed = isProtected ? shown` (editors or agents obey it)` : ''
  const merged = isMerged ? shown` (merged with what the directory has)` : obeyed
  const told = conflict === null ? merged : shown` (conflict: ${WORDS[conflict]})`
  return shown`${painted(COLORS[kind], SIGNS[kind])} ${path}${type === 'directory' ? '/' : ''}${told}\n`
}

function leftOutLines(leftOut: readonly ForkLeftOut[]): TerminalText {
  const named = leftOut.slice(0, MAX_LEFT_OUT).map(({ path, reason }) => shown`! ${path}: ${REASONS[reason]}\n`)
  const more = leftOut.length - named.length
  return joined(more > 0 ? [...named, shown`! and ${more} more\n`] : named)
}

export function statusText({ changes, leftOut }: ForkStatus): TerminalText {
  if (changes.length === 0 && leftOut.length === 0) return shown`Nothing has changed.\n`
  return shown`${joined(changes.map(changeLine))}${leftOutLines(leftOut)}`
}

export function diffText({ changes, leftOut, text, isCut }: ForkDiff): TerminalText {
  if (changes.length === 0) return statusText({ changes, leftOut, bytes: 0 })
  const lines = text.split('\n').slice(0, -1).map(diffLine)
  const rest = isCut ? shown`(The rest is left out.)\n` : ''
  const others = changes.filter(({ type, conflict, isProtected }) => type === 'directory' || conflict !== null || isProtected)
  return shown`${joined(lines)}${rest}${joined(others.map(changeLine))}${leftOutLines(leftOut)}`
}

function diffLine(line: string): TerminalText {
  const text = shownLines(line)
  if (line.startsWith('diff ')) return shown`${painted('bold', text)}\n`
  if (line.startsWith('@@')) return shown`${painted('cyan', text)}\n`
  if (line.startsWith('+')) return shown`${painted('green', text)}\n`
  return line.startsWith('-') ? shown`${painted('red', text)}\n` : shown`${text}\n`
}

export function appliedText(id: string, { applied, conflicts, commits, leftOut }: AppliedFork, dryRun = false): TerminalText {
  if (conflicts.length > 0) {
    return shown`${joined(conflicts.map(changeLine))}Nothing was applied, because of ${plural(conflicts.length, 'conflict')}. Name other paths to apply them alone.\n`
  }
  if (dryRun) return shown`${joined(applied.map(changeLine))}${plural(applied.length, 'change')} would be applied.\n`
  const brought =
    commits === null
      ? ''
      : commits.ref === null
        ? shown`The commits of the fork, up to ${commits.commit}, could not be brought to the repository.\n`
        : shown`The commits of the fork are at ${commits.ref}.\n`
  const merged = applied.filter(({ isMerged }) => isMerged).map(changeLine)
  const back = applied.length > 0 ? shown` 'toolwright forks undo ${id}' takes it back.` : ''
  return shown`${joined(merged)}${leftOutLines(leftOut)}${plural(applied.length, 'change')} applied.${back}\n${brought}`
}

export function undoneText({ undone, conflicts }: UndoneFork): TerminalText {
  if (conflicts.length > 0) {
    return shown`${joined(conflicts.map(changeLine))}Nothing was undone, because ${plural(conflicts.length, 'path')} changed since.\n`
  }
  if (undone.length === 0) return shown`Nothing is left to undo: the directory is as it was before.\n`
  return shown`${joined(undone.map(changeLine))}${plural(undone.length, 'change')} undone.\n`
}

export function listText(forks: readonly ListedFork[]): TerminalText {
  if (forks.length === 0) return shown`There are no forks.\n`
  const lines = forks.map(({ id, createdMs, state, label, base }) => {
    const time = new Date(createdMs).toISOString().slice(0, 19).replace('T', ' ')
    return shown`${id}  ${time}  ${state.padEnd(7)}  ${base}${label === null ? '' : shown`  ${label}`}\n`
  })
  return joined(lines)
}

export const collectedText = ({ removed, kept }: CollectedForks): TerminalText =>
  shown`${plural(removed.length, 'fork')} removed. ${kept} with changes ${kept === 1 ? 'stays' : 'stay'}.\n`
