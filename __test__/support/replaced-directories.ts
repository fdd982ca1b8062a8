import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from './sandbox.ts'

/** What a host or an attacker puts in the place of a directory that was moved away. */
export const replacements: Record<string, (path: string, fixture: Sandbox) => void> = {
  'a link outside': (path, fixture) => symlinkSync(fixture.outside, path),
  'a link to a credential store': (path, fixture) => symlinkSync(join(fixture.outside, '.ssh'), path),
  'another directory': (path) => mkdirSync(path),
  'a file': (path) => writeFileSync(path, 'x'),
  nothing: () => undefined,
}
