// What the report of the sandbox promises, against what happens. Prints one line: RESULT and JSON.
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createTools, sandboxReport } from 'toolwright'

// A machine in emulation takes its time.
const toolTimeoutMs = 120_000
const base = mkdtempSync(join(tmpdir(), 'promises-'))
const rootDir = join(base, 'root')
mkdirSync(join(rootDir, '.git/hooks'), { recursive: true })
for (const [name, text] of [
  ['config', '[core]\n'],
  ['HEAD', 'ref: refs/heads/main\n'],
])
  writeFileSync(join(rootDir, '.git', name), text)
mkdirSync(join(rootDir, '.git/objects'))
mkdirSync(join(rootDir, '.git/refs'))
const tools = createTools({ rootDir, toolTimeoutMs })
const report = await sandboxReport({ rootDir })
const results = []

/** Runs a program of Node in the sandbox, or without it. It prints `began` first: an attack that never began proves nothing. */
async function run(source, confined, chosen = tools) {
  const program = `console.log('began')\n${source}`
  if (!confined) return plain(process.execPath, ['--input-type=module', '-e', program])
  const file = join(rootDir, 'attack.mjs')
  writeFileSync(file, program)
  const text = await chosen.bash.execute({ cmd: process.execPath, args: [file] }).catch((error) => `${error.code} ${error.message}`)
  return String(text)
}

async function runShell(script, confined, chosen) {
  if (!confined) return plain('sh', ['-c', script])
  return String(await chosen.bash.execute({ cmd: 'sh', args: ['-c', script] }).catch((error) => `${error.code} ${error.message}`))
}

async function plain(program, args) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: rootDir })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  await new Promise((resolve) => child.on('close', resolve))
  return output
}

/** Tries an attack without the sandbox, where it has to work, and in it. */
async function attempt(layer, name, prepare) {
  const entry = { layer, name, level: report[layer].level }
  for (const confined of [false, true]) {
    const { source, shell, worked, end, chosen } = await prepare()
    const output = await (shell === undefined ? run(source, confined, chosen) : runShell(shell, confined, chosen))
    const happened = await worked(output)
    await end?.()
    if (!confined) entry.control = happened
    else Object.assign(entry, { happened, began: output.includes('began'), output: output.trim().slice(0, 200) })
  }
  results.push(entry)
}

const attemptFs = (source) => `import fs from 'node:fs'; try { ${source} } catch (error) { console.log(error.code) }`
let number = 0
function outside() {
  const path = join(base, `outside-${(number += 1)}`)
  writeFileSync(path, 'text')
  chmodSync(path, 0o600)
  return path
}
const onFile = (source, worked) => () => {
  const path = outside()
  return { source: attemptFs(source.replaceAll('PATH', JSON.stringify(path))), worked: () => worked(path) }
}

await attempt(
  'files',
  'write outside of the root',
  onFile(`fs.writeFileSync(PATH, 'other')`, (path) => readFileSync(path, 'utf8') !== 'text'),
)
await attempt(
  'files',
  'cut a file outside of the root',
  onFile('fs.truncateSync(PATH, 0)', (path) => statSync(path).size === 0),
)
await attempt(
  'files',
  'remove a file outside of the root',
  onFile('fs.rmSync(PATH)', (path) => !existsSync(path)),
)
await attempt(
  'fileMetadata',
  'change the mode of a file outside of the root',
  onFile('fs.chmodSync(PATH, 0o644)', (path) => (statSync(path).mode & 0o777) === 0o644),
)
const planted = (name, text) => () => {
  const path = join(rootDir, '.git', name)
  return {
    source: attemptFs(`fs.writeFileSync(${JSON.stringify(path)}, 'planted')`),
    worked: () => existsSync(path) && readFileSync(path, 'utf8').includes('planted'),
    end: () => writeFileSync(path, text),
  }
}
await attempt('git', 'write a hook of git', planted('hooks/pre-commit', ''))

async function server(where) {
  let hits = 0
  const listening = createServer((socket) => {
    hits += 1
    socket.destroy()
  })
  await new Promise((resolve) => listening.listen(where, resolve))
  return { listening, hits: () => hits }
}
const connecting = (to) =>
  `import net from 'node:net'; const socket = net.connect(${JSON.stringify(to)}, () => process.exit()); socket.on('error', (error) => console.log(error.code))`
await attempt('loopback', 'connect to a server of the host', async () => {
  const { listening, hits } = await server({ port: 0, host: '127.0.0.1' })
  const { port } = listening.address()
  return {
    source: connecting({ port, host: '127.0.0.1' }),
    worked: async () => (await pause(50), hits() > 0),
    end: () => listening.close(),
  }
})
await attempt('unixSockets', 'connect to a socket of the host', async () => {
  const path = join(base, `socket-${(number += 1)}`)
  const { listening, hits } = await server({ path })
  return { source: connecting({ path }), worked: async () => (await pause(50), hits() > 0), end: () => listening.close() }
})
// An address of the host's network that is not the loopback interface's. A container without a network has none.
const address = Object.values(networkInterfaces())
  .flat()
  .find((one) => one.family === 'IPv4' && !one.address.startsWith('127.'))?.address
if (address !== undefined) {
  await attempt('network', 'connect to an address of the network of the host', async () => {
    const { listening, hits } = await server({ port: 0, host: address })
    const { port } = listening.address()
    return { source: connecting({ port, host: address }), worked: async () => (await pause(50), hits() > 0), end: () => listening.close() }
  })
}
await attempt('loopback', 'send a datagram to a server of the host', async () => {
  let hits = 0
  const listening = createSocket('udp4', () => (hits += 1))
  await new Promise((resolve) => listening.bind(0, '127.0.0.1', resolve))
  const { port } = listening.address()
  return {
    source: `import dgram from 'node:dgram'; const socket = dgram.createSocket('udp4'); socket.on('error', (error) => console.log(error.code))
      socket.send('x', ${port}, '127.0.0.1', () => socket.close())`,
    worked: async () => (await pause(200), hits > 0),
    end: () => listening.close(),
  }
})
await attempt('ipc', 'read shared memory of the host', () => {
  const path = `/dev/shm/promises-${process.pid}`
  writeFileSync(path, 'secret of the host')
  return { source: attemptFs(`console.log(fs.readFileSync('${path}', 'utf8'))`), worked: (output) => output.includes('secret of the host') }
})
async function victim() {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { env: { ...process.env, SECRET_OF_HOST: 'sesame' } })
  const ended = new Promise((resolve) => child.on('exit', () => resolve(true)))
  await new Promise((resolve) => child.on('spawn', resolve))
  return { pid: child.pid, ended: () => Promise.race([ended, pause(500, false)]), end: () => child.kill('SIGKILL') }
}
await attempt('env', 'read the environment of a process of the host', async () => {
  const { pid, end } = await victim()
  return {
    source: attemptFs(`console.log(fs.readFileSync('/proc/${pid}/environ', 'utf8'))`),
    worked: (output) => output.includes('sesame'),
    end,
  }
})
await attempt('processKill', 'kill a process of the host', async () => {
  const { pid, ended, end } = await victim()
  return { source: attemptFs(`process.kill(${pid}, 'SIGKILL')`), worked: ended, end }
})
await attempt('processKill', 'leave a process behind', () => {
  const mark = `1234${process.pid}${(number += 1)}`
  const marked = () =>
    readdirSync('/proc').filter((entry) => {
      try {
        return /^\d+$/u.test(entry) && readFileSync(`/proc/${entry}/cmdline`, 'utf8').includes(mark)
      } catch {
        return false
      }
    })
  return {
    source: `import { spawn } from 'node:child_process'
      spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', '${mark}'], { detached: true, stdio: 'ignore' }).unref(); await new Promise((resolve) => setTimeout(resolve, 300))`,
    worked: async () => (await pause(200), marked().length > 0),
    end: () => marked().forEach((pid) => process.kill(Number(pid), 'SIGKILL')),
  }
})
// By a shell, since Node's own threads count.
await attempt('limits', 'start 100 processes where 60 are the limit', () => ({
  chosen: createTools({ rootDir, toolTimeoutMs, sandbox: { limits: { processes: 60 } } }),
  shell: 'echo began; n=0; while [ $n -lt 100 ]; do sleep 5 & n=$((n+1)); done; echo started $n',
  worked: (output) => /started 100/u.test(output),
}))

// What has to work all the same.
const works = {
  write:
    /written|created|wrote/iu.test(String(await tools.write.execute({ path: 'made.txt', content: 'text\n' }))) ||
    existsSync(join(rootDir, 'made.txt')),
  read: String(await tools.read.execute({ path: 'made.txt' })).includes('text'),
  grep: String(await tools.grep.execute({ pattern: 'tex' })).includes('made.txt'),
  bash: String(
    await tools.bash.execute({ cmd: 'sh', args: ['-c', 'echo hello > by-command && cat by-command'] }).catch((error) => error.code),
  ).includes('hello'),
}
const rows = report
const levels = Object.fromEntries(
  Object.entries(rows)
    .filter(([, row]) => row?.level)
    .map(([name, row]) => [name, row.level]),
)
const mechanisms = Object.fromEntries(
  Object.entries(rows)
    .filter(([, row]) => row?.level)
    .map(([name, row]) => [name, `${row.mechanism}${row.advice ? ` (${row.advice})` : ''}`]),
)
console.log(`RESULT ${JSON.stringify({ mode: process.argv[2], levels, mechanisms, works, results })}`)
process.exit()
