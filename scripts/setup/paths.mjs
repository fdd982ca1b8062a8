import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const binDir = join(root, 'node_modules', '.bin')
/** Wiped together with node_modules: stamps must not outlive what they vouch for. */
export const stampDir = join(root, 'node_modules', '.cache', 'toolwright')
/** Survives `npm ci`: the lock, and the runtimes the package check installs. */
export const cacheDir = join(root, '.cache')
