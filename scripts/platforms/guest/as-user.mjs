// Runs a program as a user: `as-user.mjs UID HOME PROGRAM ARGUMENT`. A static busybox cannot.
import { spawnSync } from 'node:child_process'

const [uid, home, ...program] = process.argv.slice(2)
process.setgroups([])
process.setgid(Number(uid))
process.setuid(Number(uid))
const env = { PATH: process.env.PATH, HOME: home, TMPDIR: '/tmp' }
const { status, signal } = spawnSync(process.execPath, program, { stdio: 'inherit', env })
if (status !== 0) process.stdout.write(`FAILED ${program.at(-1)}: ${signal ?? status}\n`)
