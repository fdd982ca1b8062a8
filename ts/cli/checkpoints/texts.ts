/** What `toolwright checkpoints` prints. */
import type {
  CheckpointChange,
  CheckpointDiff,
  CheckpointList,
  CollectedCheckpoints,
  RestoredCheckpoint,
} from '../../journal/checkpoints/checkpoints.js'
import { UsageError } from '../program.js'

const SIGNS = { created: '+', modified: '~', deleted: '-' } as const
const UNITS: Record<string, number> = { '': 1, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KIB: 2 ** 10, MIB: 2 ** 20, GIB: 2 ** 30 }
const TIMES: Record<string, number> = { s: 1e3, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A file's name may hold what a terminal would obey. */
const printable = (text: string): string => text.replace(/\p{C}/gu, (character) => JSON.stringify(character).slice(1, -1))

const changeLine = ({ path, kind, type }: CheckpointChange): string =>
  `${SIGNS[kind]} ${printable(path)}${type === 'directory' ? '/' : ''}\n`

const size = (bytes: number): string => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`)

export function listText({ checkpoints, restores, bytes }: CheckpointList): string {
  if (checkpoints.length === 0) return 'There are no checkpoints of this directory.\n'
  const lines = checkpoints.map(({ id, atMs, byOthers, label, changes, calls, turns }) => {
    const facts = [
      `${changes} ${changes === 1 ? 'change' : 'changes'}${byOthers && changes > 0 ? ' by others' : ''}`,
      label ?? undefined,
      ...calls.map((call) => `call ${call}`),
      ...turns.map((turn) => `turn ${turn}`),
    ].filter((fact) => fact !== undefined)
    return `${String(id).padStart(6)}  ${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')}  ${printable(facts.join(', '))}\n`
  })
  const left = restores.filter(({ state }) => state === 'interrupted')
  const notes = left.map(({ target, files }) => {
    const old = files.filter(({ outcome }) => outcome === 'old').length
    return `A restoration of ${target} was interrupted: ${files.length - old} of ${files.length} files are restored.\n`
  })
  return `${lines.join('')}${notes.join('')}The store has ${size(bytes)}.\n`
}

export function diffText({ changes, text, isCut }: CheckpointDiff, namesOnly: boolean): string {
  if (namesOnly || text === '') return changes.map(changeLine).join('')
  return `${text}${isCut ? '(The rest is left out.)\n' : ''}`
}

export function restoredText({ changes, conflicts, left, before, after }: RestoredCheckpoint, dryRun: boolean): string {
  const lines = changes.map(changeLine)
  lines.push(...conflicts.map(({ path, reason }) => `! ${printable(path)}: ${reason}\n`))
  lines.push(...left.map(({ path, reason }) => `! ${printable(path)}: ${printable(reason)}\n`))
  if (dryRun) lines.push(`${changes.length} paths would be restored. Nothing was changed.\n`)
  else if (after === null) lines.push('There was nothing to do.\n')
  else lines.push(`${changes.length} paths are restored. 'toolwright checkpoints restore ${before}' takes it back.\n`)
  return lines.join('')
}

export const collectedText = ({ removed, left, bytesBefore, bytes }: CollectedCheckpoints): string =>
  `${removed} checkpoints were removed and ${left} are left. The store had ${size(bytesBefore)} and has ${size(bytes)}.\n`

export function bytesOf(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/u.exec(text) ?? []
  const factor = UNITS[unit.toUpperCase()]
  if (number === '' || factor === undefined)
    throw new UsageError(`checkpoints: ${option} is a size such as 500MB, not ${JSON.stringify(text)}`)
  return Math.round(Number(number) * factor)
}

export function ageOf(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d+)([smhd])$/u.exec(text) ?? []
  const factor = TIMES[unit]
  if (factor === undefined) throw new UsageError(`checkpoints: ${option} is a time such as 12h or 30d, not ${JSON.stringify(text)}`)
  return Number(number) * factor
}
