// Kills a worker of a durable engine after a payment, with the engine alone and with toolwright/durable:
// `npm run example:durable` in a checkout. DATABASE_URL names a PostgreSQL; without it, one of its own is started.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

if (!process.argv.includes('--start')) {
  console.error('This installs DBOS, and starts a PostgreSQL unless DATABASE_URL names one. Say --start, or: npm run example:durable')
  process.exit(2)
}
const { dirname } = import.meta
const folder = mkdtempSync(join(tmpdir(), 'toolwright-example-'))
const support = join(dirname, '../../__test__/support')
const { installPostgres, noPostgres, startPostgres } = await import(join(support, 'postgres-server.ts'))
const { installedPackages } = await import(join(support, 'installed-packages.ts'))

console.log('Getting DBOS, and PostgreSQL where none is installed …')
const engines = await installedPackages('durable-engines', [
  '@dbos-inc/dbos-sdk@5.3.0',
  '@restatedev/restate-sdk@1.17.2',
  '@restatedev/restate-server@1.7.12',
  'pg@8.23.1',
])
let server
if (process.env.DATABASE_URL === undefined) {
  if (noPostgres() !== undefined) await installPostgres()
  server = await startPostgres({ tcp: true })
}
const url = process.env.DATABASE_URL ?? server.url

/** Runs a worker, and kills it when it has said this. */
function work(mode, killAt) {
  const env = { ...process.env, DATABASE_URL: url, ENGINES: engines, PAYMENTS: join(folder, `${mode}.txt`) }
  const worker = spawn(process.execPath, ['--no-deprecation', join(dirname, 'worker.mjs'), mode], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  worker.stdout.setEncoding('utf8').on('data', (text) => {
    process.stdout.write(text)
    if (killAt !== undefined && text.includes(killAt)) {
      worker.kill('SIGKILL')
      console.log('  ✗ the worker is killed')
    }
  })
  return new Promise((resolve) => worker.on('close', resolve))
}

const paid = {}
for (const mode of ['alone', 'durable']) {
  console.log(mode === 'alone' ? '\nDBOS alone' : '\nDBOS with toolwright/durable')
  console.log('  a worker begins')
  await work(mode, 'invoice 2 is paid')
  console.log('  another one goes on')
  await work(mode)
  paid[mode] = readFileSync(join(folder, `${mode}.txt`), 'utf8')
    .trim()
    .split('\n')
  const twice = paid[mode].filter((line, index) => paid[mode].indexOf(line) !== index)
  console.log(`  payments: ${paid[mode].join(', ')}${twice.length > 0 ? `: ${twice.join(', ')} TWICE` : ': each once'}`)
}

const page = join(tmpdir(), 'toolwright-durable.html')
const cli = join(dirname, '../../dist/cli.js')
console.log('\nWhat the journal says:')
spawnSync(process.execPath, [cli, 'calls', url], { stdio: 'inherit' })
spawnSync(process.execPath, [cli, 'report', url, '--output', page], { stdio: 'inherit' })
await server?.stop()
rmSync(folder, { recursive: true })
if (new Set(paid.durable).size !== paid.durable.length) process.exitCode = 1
