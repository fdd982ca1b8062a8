import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { makeSandbox } from '../support/sandbox.ts'

const script = fileURLToPath(new URL('second-groups-process.ts', import.meta.url))
const user = ['setpriv', '--reuid', '1000', '--regid', '1000', '--groups', '1000,2000', '--']

/** Whether this process can become another user, who reads this checkout. */
function canBecome(): boolean {
  try {
    execFileSync('setpriv', [...user.slice(1), 'test', '-r', script], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const NOTE = 'commands have the first group of the user alone, and `2000` is another one'

/** docs/security.md, "What a sandbox breaks": a user namespace maps one group. */
test.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0 || !canBecome())(
  'a second group of the user is explained',
  async () => {
    const { root, put, at } = makeSandbox()
    for (const path of [dirname(root), root]) {
      chmodSync(path, 0o755)
      chownSync(path, 1000, 1000)
    }
    for (const name of ['f', 'g']) {
      put(name, 'text\n')
      chownSync(at(name), 1000, 2000)
      chmodSync(at(name), 0o664)
    }
    const scripts = [
      'chgrp 2000 f',
      'chown :2000 f',
      'install -g 2000 f new',
      'cat f; echo more >> f',
      'cp -p f copy',
      'sed -i s/text/other/ g',
    ]
    const { stdout } = await startScript(script, [root, ...scripts], user).ended
    const said = JSON.parse(stdout) as string[]
    for (const refused of said.slice(0, 3)) {
      expect(refused).toContain('Invalid argument')
      expect(refused).toContain(NOTE)
    }
    // Files of the group stay accessible as before.
    expect(said.slice(3)).toEqual(['text\n', '', ''])
    expect(statSync(at('f')).gid).toBe(2000)
    // What replaces a file is of the first group.
    expect(['copy', 'g'].map((name) => statSync(at(name)).gid)).toEqual([1000, 1000])
  },
)
