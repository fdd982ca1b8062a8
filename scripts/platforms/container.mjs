// Docker's default profile, by a daemon of our own: no images are fetched, and nothing of the machine's is touched.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { cache, Skipped } from './cache.mjs'

const START_MS = 30_000

/** Runs `use` with a function that runs the promises in a container. */
export async function withContainers(folder, use) {
  if (process.getuid?.() !== 0) throw new Skipped('a daemon needs root')
  const own = join(cache, 'docker')
  rmSync(own, { recursive: true, force: true })
  mkdirSync(own, { recursive: true })
  const socket = `unix://${join(own, 'socket')}`
  const args = ['--data-root', join(own, 'data'), '--exec-root', join(own, 'run'), '-H', socket, '-p', join(own, 'pid')]
  const daemon = spawn('dockerd', [...args, '--iptables=false', '--ip6tables=false', '--bridge=none'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [daemon.stdout, daemon.stderr]) stream.on('data', (text) => (log += text))
  const ended = new Promise((resolve) => daemon.once('close', resolve))
  let failure
  daemon.once('error', (error) => (failure = error))
  const docker = (command, options = {}) =>
    execFileSync('docker', ['-H', socket, ...command], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options })
  try {
    await started(
      join(own, 'socket'),
      docker,
      () => failure ?? (daemon.exitCode === null ? undefined : new Error(log.trim().split('\n').at(-1))),
    )
    execFileSync('sh', ['-c', 'tar -C "$0" -c . | docker -H "$1" import - toolwright-platforms:local', folder, socket], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    await use((mode, options) => {
      const command = [
        'run',
        '--rm',
        '--network',
        'none',
        '-w',
        '/app',
        '-e',
        'HOME=/tmp',
        ...options,
        'toolwright-platforms:local',
        'node',
        'promises.mjs',
        mode,
      ]
      return docker(command, { timeout: 5 * 60_000 })
    })
  } finally {
    if (existsSync(join(own, 'pid'))) process.kill(Number(readFileSync(join(own, 'pid'), 'utf8')), 'SIGTERM')
    else daemon.kill('SIGTERM')
    await ended
  }
}

async function started(socket, docker, failed) {
  for (const begin = Date.now(); Date.now() - begin < START_MS; await pause(200)) {
    const failure = failed()
    if (failure?.code === 'ENOENT') throw new Skipped('there is no dockerd: apt-get install docker.io')
    if (failure) throw new Skipped(`dockerd does not start: ${failure.message}`)
    try {
      if (existsSync(socket)) return void docker(['info'])
    } catch {
      // Not yet.
    }
  }
  throw new Skipped('dockerd does not start in time')
}
