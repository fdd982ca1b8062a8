// A registry of npm on this machine, with the packages of the release; everything else it gets from the registry of this machine's npm.
import { spawn } from 'node:child_process'
import { createWriteStream, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { cleanEnvironment, npm } from '../package/npm.mjs'
import { installedTools } from '../package/tools.mjs'
import { binDir, root } from '../setup/paths.mjs'

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

const config = (storage, upstream) => `storage: ${JSON.stringify(storage)}
auth: { htpasswd: { file: ${JSON.stringify(join(storage, '..', 'htpasswd'))}, max_users: -1 } }
uplinks: { upstream: { url: ${JSON.stringify(upstream)}, cache: true, timeout: 60s, maxage: 1h } }
packages:
  'toolwright*': { access: $all, publish: $all, unpublish: $all }
  '**': { access: $all, proxy: upstream }
max_body_size: 50mb
web: { enable: false }
log: { type: stdout, format: pretty, level: warn }
`

/** Starts it. What others have published stays in `folder` for the next time, what was published here does not. */
export async function startRegistry(folder) {
  const storage = join(folder, 'storage')
  mkdirSync(storage, { recursive: true })
  for (const name of readdirSync(storage).filter((one) => one.startsWith('toolwright'))) rmSync(join(storage, name), { recursive: true })
  // Its list of published packages.
  rmSync(join(storage, '.verdaccio-db.json'), { force: true })
  const upstream = npm(['config', 'get', 'registry'], root).trim()
  writeFileSync(join(folder, 'config.yaml'), config(storage, upstream))
  const port = await freePort()
  const address = `http://127.0.0.1:${port}/`
  const program = join(installedTools('release/tools'), 'node_modules', 'verdaccio', 'bin', 'verdaccio')
  const args = [program, '--config', join(folder, 'config.yaml'), '--listen', `127.0.0.1:${port}`]
  const child = spawn(join(binDir, 'node'), args, { cwd: folder, env: cleanEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] })
  const log = createWriteStream(join(folder, 'registry.log'))
  child.stdout.pipe(log, { end: false })
  child.stderr.pipe(log, { end: false })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const stop = async () => {
    child.kill('SIGTERM')
    await Promise.race([ended, setTimeout(5_000).then(() => child.kill('SIGKILL'))])
  }
  for (let tries = 0; ; tries += 1) {
    const isUp = await fetch(`${address}-/ping`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isUp) return { address, stop, options: npmOptions(folder, address) }
    if (tries === 100 || child.exitCode !== null) {
      await stop()
      throw new Error(`the registry does not start; see ${join(folder, 'registry.log')}`)
    }
    await setTimeout(200)
  }
}

/** What npm needs to publish there. */
function npmOptions(folder, address) {
  const rc = join(folder, 'npmrc')
  writeFileSync(rc, `registry=${address}\n${address.replace('http:', '')}:_authToken=rehearsal\n`)
  return ['--userconfig', rc, '--registry', address]
}
