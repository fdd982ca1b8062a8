/**
 * A language server for tests. It knows one problem: a line with `BAD`. The first argument says how it behaves.
 *
 * pull, push: well; `twice` pushes nothing of a text first, and its problems a little later; `registers` answers when it is asked, and says so late; `mute` pushes nothing; `late` answers after the other arguments' milliseconds; `stuck` never answers of a file `far.ts`; `records` writes what it hears to `heard.jsonl`; the others are hostile.
 */
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'

const [kind, argument] = process.argv.slice(2)
const texts = new Map()
const send = (message) => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))
  process.stdout.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]))
}
const diagnosticsOf = (uri) =>
  (texts.get(uri)?.text ?? '').split('\n').flatMap((text, line) => {
    const range = { start: { line, character: 0 }, end: { line, character: text.length } }
    const from = /needs (\S+)/u.exec(text)?.[1]
    const other = from === undefined ? undefined : [...texts].find(([name]) => name.endsWith(`/${from}`))?.[1].text
    if (from !== undefined && other !== undefined && !other.includes('HERE'))
      return { range, severity: 1, code: 'S2', message: `${from} lacks it` }
    if (kind === 'tells' && text.includes('BAD'))
      return { range, severity: 1, code: 'S3', message: `bad: ${howRead(argument.slice('at:'.length))}` }
    return text.includes('BAD') ? { range, severity: 1, code: 'S1', source: 'scripted', message: `bad: ${text.trim()}` } : []
  })
/** Whether a file can be read. */
function howRead(path) {
  try {
    readFileSync(path)
    return 'read'
  } catch (error) {
    return error.code
  }
}
const publish = () => {
  for (const [uri, { version }] of texts)
    send({ method: 'textDocument/publishDiagnostics', params: { uri, version, diagnostics: diagnosticsOf(uri) } })
}

const hostile = {
  garbage: () => process.stdout.write('no message of any protocol\n'.repeat(1000)),
  endless: () => process.stdout.write(`Content-Length: 999999999999\r\n\r\n`),
  dies: () => (process.stderr.write('cannot find the compiler\n'), process.exit(3)),
  leaks: () => {
    const held = []
    for (;;) held.push(Buffer.alloc(16_000_000, 1))
  },
  forks: () => {
    for (let count = 0; count < 8; count += 1) spawn('sleep', [argument], { stdio: 'ignore', detached: true })
  },
  hangs: () => (process.stdin.pause(), setInterval(() => undefined, 1000)),
  listens: () => createServer().listen(Number(argument), '127.0.0.1'),
  reads: () => {
    const found = []
    for (const path of argument.split(',')) {
      try {
        found.push(readFileSync(path, 'utf8'))
      } catch (error) {
        found.push(error.code)
      }
    }
    writeFileSync('found.json', JSON.stringify(found))
  },
  noisy: () => process.stderr.write('noise\n'.repeat(200_000)),
}

const notifications = {
  'textDocument/didOpen': ({ textDocument: { uri, version, text } }) => texts.set(uri, { version, text }),
  'textDocument/didChange': ({ textDocument: { uri, version }, contentChanges: [{ text }] }) => texts.set(uri, { version, text }),
  'textDocument/didClose': ({ textDocument: { uri } }) => texts.delete(uri),
  exit: () => process.exit(0),
}

function receive({ id, method, params }) {
  if (kind === 'records') appendFileSync('heard.jsonl', `${JSON.stringify({ method, params })}\n`)
  if (method === 'initialize') {
    const capabilities = {
      textDocumentSync: 1,
      ...(!['push', 'twice', 'registers', 'mute'].includes(kind) && { diagnosticProvider: { interFileDependencies: true } }),
    }
    send({ id, result: { capabilities } })
    hostile[kind]?.()
    return
  }
  notifications[method]?.(params)
  if (/did(?:Open|Change)$/u.test(method) && kind === 'push') publish()
  if (/did(?:Open|Change)$/u.test(method) && kind === 'twice') {
    const { uri, version } = params.textDocument
    send({ method: 'textDocument/publishDiagnostics', params: { uri, version, diagnostics: [] } })
    setTimeout(publish, 40)
  }
  // When the first text is open.
  if (kind === 'registers' && method === 'textDocument/didOpen') {
    const registrations = [{ id: 'late', method: 'textDocument/diagnostic' }]
    setTimeout(() => send({ id: 'register', method: 'client/registerCapability', params: { registrations } }), 300)
  }
  if (id === undefined) return
  if (method !== 'textDocument/diagnostic') return send({ id, result: null })
  const answer = () => send({ id, result: { kind: 'full', items: diagnosticsOf(params.textDocument.uri) } })
  if (kind === 'stuck' && params.textDocument.uri.endsWith('/far.ts')) return
  if (kind === 'late') setTimeout(answer, Number(argument))
  else answer()
}

let held = Buffer.alloc(0)
process.stdin.on('data', (bytes) => {
  held = Buffer.concat([held, bytes])
  for (;;) {
    const end = held.indexOf('\r\n\r\n')
    if (end === -1) return
    const length = Number(/content-length: (\d+)/iu.exec(held.subarray(0, end).toString())[1])
    if (held.length < end + 4 + length) return
    const body = held.subarray(end + 4, end + 4 + length).toString()
    held = held.subarray(end + 4 + length)
    receive(JSON.parse(body))
  }
})
process.stdin.on('end', () => process.exit(0))
