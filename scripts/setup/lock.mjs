// mkdir is atomic on every file system, so a directory serves as the lock.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from './paths.mjs'
import { say } from './progress.mjs'

const lockDir = join(cacheDir, 'setup.lock')
const ownerFile = join(lockDir, 'pid')
/** A holder that has not yet written its pid is given this long before it counts as dead. */
const UNCLAIMED_MS = 10_000

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function isStale() {
  try {
    const pid = Number(readFileSync(ownerFile, 'utf8'))
    return !(pid > 0 && isAlive(pid))
  } catch {
    try {
      return Date.now() - statSync(lockDir).mtimeMs > UNCLAIMED_MS
    } catch {
      return false // gone in the meantime: the next mkdir decides
    }
  }
}

function breakStaleLock() {
  // Of several waiters only one can rename it away; the others see ENOENT and try again.
  const grave = `${lockDir}.${process.pid}`
  try {
    renameSync(lockDir, grave)
    rmSync(grave, { recursive: true, force: true })
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}

async function acquire() {
  mkdirSync(cacheDir, { recursive: true })
  let announced = false
  for (;;) {
    try {
      mkdirSync(lockDir)
      writeFileSync(ownerFile, String(process.pid))
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (isStale()) {
      breakStaleLock()
      continue
    }
    if (!announced) say('waiting for another setup of this checkout to finish …')
    announced = true
    await sleep(200)
  }
}

const release = () => rmSync(lockDir, { recursive: true, force: true })

export async function withLock(work) {
  await acquire()
  // A terminated setup must not make the next one wait for the stale check.
  process.once('exit', release)
  try {
    return await work()
  } finally {
    process.removeListener('exit', release)
    release()
  }
}
