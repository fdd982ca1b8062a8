import type { createTools } from 'toolwright'
import type { createSession } from 'toolwright/contract'

export interface Tally {
  right: number
  refused: number
  wrong: string[]
  reasons: Record<string, number>
}

interface Library {
  createTools: typeof createTools
  createSession: typeof createSession
}

export function replay(library: Library, repository: string, how: { commits: number; seed: number }): Promise<Map<string, Tally>>

export function table(tallies: ReadonlyMap<string, Tally>): string
