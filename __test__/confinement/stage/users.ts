import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { programs, project } from './programs.ts'

/** A user that attacks are made as. */
export interface User {
  name: string
  uid: number
}

const NOBODY = 65_534

/** The users of a run: root and one without rights, or whoever runs the tests. */
export const users: readonly User[] =
  process.getuid?.() === 0
    ? [
        { name: 'root', uid: 0 },
        { name: 'a user without rights', uid: NOBODY },
      ]
    : [{ name: 'the user of the tests', uid: process.getuid?.() ?? NOBODY }]

if (users.length === 1) console.log('skipped: attacks as root, because the tests are not run by root')

/** Why there are no tests as this user, if there are none. */
export async function obstacle(user: User): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'these attacks are for Linux'
  if (user.uid === process.getuid?.()) return undefined
  const { attack } = await programs()
  const reached = spawnSync(attack, ['as', String(user.uid), '--', attack, 'list', join(project, 'dist')])
  return reached.status === 0 ? undefined : `user ${user.uid} cannot reach ${project}`
}
