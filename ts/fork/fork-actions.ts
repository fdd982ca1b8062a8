import type { CancelHandle, Unfinished } from '../../index.js'
import { call, nativeAddon } from '../core/native.js'
import type { AppliedFork, ForkActions, ForkDiff, ForkStatus, UndoneFork } from './fork.js'

/** How long a change of the base may still report how it ended, after an abort. */
const APPLY_GRACE_MS = 30_000

type Act = (request: Record<string, unknown>, cancel: CancelHandle) => Promise<string | Unfinished>

/** What can be asked of a fork. `act` asks the addon. */
export function forkActions(act: Act): ForkActions {
  const ask = async <T>(request: Record<string, unknown>, signal: AbortSignal | undefined, graceMs = 0): Promise<T> =>
    JSON.parse(await call({ what: 'fork', signal, graceMs }, (_, cancel) => act(request, cancel))) as T
  return {
    status: (signal) => ask<ForkStatus>({ action: 'compare' }, signal),
    diff: (maxTextBytes, signal) => ask<ForkDiff>({ action: 'compare', maxTextBytes }, signal),
    apply: ({ paths, dryRun, merge }, signal) =>
      ask<AppliedFork>({ action: 'apply', paths: [...paths], dryRun, merge }, signal, APPLY_GRACE_MS),
    undo: (signal) => ask<UndoneFork>({ action: 'undo' }, signal, APPLY_GRACE_MS),
    discard: async () => {
      await ask<null>({ action: 'discard' }, undefined)
    },
  }
}

/** A fork that no program has open, by its name. */
export async function storedFork(id: string, store: string | undefined): Promise<ForkActions> {
  const addon = await nativeAddon()
  return forkActions((request, cancel) => addon.actOnFork({ ...request, id, ...(store !== undefined && { store }) }, cancel))
}
