/** What `toolwright checkpoints` prints. */
import type {
  CheckpointChange,
  CheckpointDiff,
  CheckpointList,
  CollectedCheckpoints,
  RestoredCheckpoint,
} from '../../journal/checkpoints/checkpoints.js'
import { joined, shown, shownJson, shownLines, type TerminalText } from '../../core/terminal.js'
import { UsageError } from '../program.js'

const SIGNS = { created: '+', modified: '~', deleted: '-' } as const
const UNITS: Record<string, number> = { '': 1, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KIB: 2 ** 10, MIB: 2 ** 20, GIB: 2 ** 30 }
const TIMES: Record<string, number> = { s: 1e3, m: 60_000, h: 3_600_000, d: 86_400_000 }

const changeLine = ({ path, kind, type }: CheckpointChange): TerminalText =>
  shown`${SIGNS[kind]} ${path}${type === 'directory' ? '/' : ''}\n`

const size = (bytes: number): string => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`)

function timeText(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString().slice(0, 19).replace('T', ' ')
}

export function listText({ checkpoints, restores, bytes }: CheckpointList): TerminalText {
  if (checkpoints.length === 0) return shown`There are no checkpoints of this directory.\n`
  const lines = checkpoints.map(({ id, atMs, byOthers, label, changes, calls, turns }) => {
    const facts = [
      `${changes} ${changes === 1 ? 'change' : 'changes'}${byOthers && changes > 0 ? ' by others' : ''}`,
      label ?? undefined,
      ...calls.map((call) => `call ${call}`),
      ...turns.map((turn) => `turn ${turn}`),
    ].filter((fact) => fact !== undefined)
    return shown`${String(id).padStart(6)}  ${timeText(atMs)}  ${facts.join(', ')}\n`
  })
  const left = restores.filter(({ state }) => state === 'interrupted')
  const notes = left.map(({ target, files }) => {
    const old = files.filter(({ outcome }) => outcome === 'old').length
    return shown`A restoration of ${target} was interrupted: ${files.length - old} of ${files.length} files are restored.\n`
  })
  const heading = shown`${'id'.padStart(6)}  ${'time'.padEnd(19)}  what\n`
  return shown`${heading}${joined(lines)}${joined(notes)}The store has ${size(bytes)}.\n`
}

export function diffText({ changes, text, isCut }: CheckpointDiff, namesOnly: boolean): TerminalText {
  if (namesOnly || text === '') return joined(changes.map(changeLine))
  return shown`${shownLines(text)}${isCut ? shown`(The rest is left out.)\n` : ''}`
}

export function restoredText({ changes, conflicts, left, before, after }: RestoredCheckpoint, dryRun: boolean): TerminalText {
  const lines = changes.map(changeLine)
  lines.push(...conflicts.map(({ path, reason }) => shown`! ${path}: ${reason}\n`))
  lines.push(...left.map(({ path, reason }) => shown`! ${path}: ${reason}\n`))
  if (dryRun) lines.push(shown`${changes.length} paths would be restored. Nothing was changed.\n`)
  else if (after === null && left.length > 0) lines.push(shown`Nothing was restored: what is named above is left as it is.\n`)
  else if (after === null) lines.push(shown`There was nothing to do.\n`)
  else lines.push(shown`${changes.length} paths are restored. 'toolwright checkpoints restore ${before ?? ''}' takes it back.\n`)
  return joined(lines)
}

export const collectedText = ({ removed, left, bytesBefore, bytes }: CollectedCheckpoints): TerminalText =>
  shown`${removed} checkpoints were removed and ${left} are left. The store had ${size(bytesBefore)} and has ${size(bytes)}.\n`

export function bytesOf(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/u.exec(text) ?? []
  const factor = UNITS[unit.toUpperCase()]
  if (number === '' || factor === undefined) throw new UsageError(shown`${option} is a size such as 500MB, not ${shownJson(text)}`)
  return Math.round(Number(number) * factor)
}

export function ageOf(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d+)([smhd])$/u.exec(text) ?? []
  const factor = TIMES[unit]
  if (factor === undefined) throw new UsageError(shown`checkpoints: ${option} is a time such as 12h or 30d, not ${shownJson(text)}`)
  return Number(number) * factor
}
