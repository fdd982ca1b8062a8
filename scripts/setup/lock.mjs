// mkdir is atomic on every file system, so a directory serves as the lock.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from './paths.mjs'
import { say } from './progress.mjs'

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

function isStale(lockDir) {
  try {
    const pid = Number(readFileSync(join(lockDir, 'pid'), 'utf8'))
    return !(pid > 0 && isAlive(pid))
  } catch {
    try {
      return Date.now() - statSync(lockDir).mtimeMs > UNCLAIMED_MS
    } catch {
      return false // gone in the meantime: the next mkdir decides
    }
  }
}

function breakStaleLock(lockDir) {
  // Of several waiters only one can rename it away; the others see ENOENT and try again.
  const grave = `${lockDir}.${process.pid}`
  try {
    renameSync(lockDir, grave)
    rmSync(grave, { recursive: true, force: true })
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}

async function acquire(lockDir, name) {
  mkdirSync(cacheDir, { recursive: true })
  let announced = false
  for (;;) {
    try {
      mkdirSync(lockDir)
      writeFileSync(join(lockDir, 'pid'), String(process.pid))
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (isStale(lockDir)) {
      breakStaleLock(lockDir)
      continue
    }
    if (!announced) say(`waiting for another ${name} of this checkout to finish …`)
    announced = true
    await sleep(200)
  }
}

/** Does the work while nothing else of this name does in this checkout. */
export async function withLock(work, name = 'setup') {
  const lockDir = join(cacheDir, `${name}.lock`)
  const release = () => rmSync(lockDir, { recursive: true, force: true })
  await acquire(lockDir, name)
  // A terminated setup must not make the next one wait for the stale check.
  process.once('exit', release)
  try {
    return await work()
  } finally {
    process.removeListener('exit', release)
    release()
  }
}
