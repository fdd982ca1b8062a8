import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Whether `npx NAME` in a directory finds the program without a registry: in `node_modules/.bin`, or in `PATH`. */
export function isInstalled(program: string, directory: string, path: string | undefined): boolean {
  if (program.includes('/') || program.includes('\0')) return false
  for (let at = directory; ; at = dirname(at)) {
    if (existsSync(join(at, 'node_modules', '.bin', program))) return true
    if (at === dirname(at)) break
  }
  return (path ?? '').split(':').some((each) => each !== '' && existsSync(join(each, program)))
}
