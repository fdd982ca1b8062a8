import { join } from 'node:path'
import { cacheDir } from '../setup/paths.mjs'

/** What was downloaded and made. It may be removed at any time. */
export const cache = join(cacheDir, 'platforms')

/** A row that cannot run here, with the reason. */
export class Skipped extends Error {
  name = 'Skipped'
}
