// A server of the Model Context Protocol over stdio that does what its environment says, without any package.
import { execFile } from 'node:child_process'
import { createInterface } from 'node:readline'

const { MODE = '' } = process.env
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const text = (value) => ({ content: [{ type: 'text', text: String(value) }] })
const tool = (name, properties = {}) => ({ name, description: name, inputSchema: { type: 'object', properties } })

if (MODE === 'banner') process.stdout.write('Welcome to the server!\n\n{"level":"info"}\n[]\nnull\n')
if (MODE === 'garbage') setInterval(() => process.stdout.write(`${'x'.repeat(60_000)}\n`), 1)
if (MODE === 'deaf') for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined)
if (MODE === 'says') console.error(`cannot go on with ${process.env.TOKEN} and ${process.argv[2]}\u001B[2J`)
if (MODE === 'says') process.exit(3)
if (MODE === 'asks') {
  // It asks without end, and reads no answer.
  const ask = () => {
    for (let n = 0; n < 100; n += 1) send({ id: `ping-${n}`, method: 'ping' })
    setImmediate(ask)
  }
  setTimeout(ask, 300)
}

const calls = {
  sh: ({ line }) =>
    new Promise((resolve) => {
      execFile('/bin/sh', ['-c', line], { timeout: 10_000 }, (error, stdout, stderr) => {
        const result = text(`${stdout}${stderr}`)
        resolve(error === null ? result : { ...result, isError: true })
      })
    }),
  env: () => text(JSON.stringify(process.env)),
  waits: ({ ms = 10 }) => new Promise((resolve) => setTimeout(() => resolve(text(ms)), ms)),
  line: ({ bytes }) => {
    const part = 'x'.repeat(1_000_000)
    let left = bytes
    const more = () => {
      while (left > 0) {
        left -= part.length
        if (!process.stdout.write(part)) return void process.stdout.once('drain', more)
      }
    }
    more()
    return new Promise(() => undefined)
  },
}

const input = createInterface({ input: process.stdin })
input.on('line', async (line) => {
  const { id, method, params = {} } = JSON.parse(line)
  if (method === 'initialize') {
    send({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'raw', version: '1' } } })
    if (MODE === 'asks') input.pause()
  } else if (method === 'tools/list') {
    send({ id, result: { tools: Object.keys(calls).map((name) => tool(name)) } })
  } else if (method === 'tools/call') {
    send({ id, result: await calls[params.name](params.arguments ?? {}) })
  } else if (id !== undefined) {
    send({ id, error: { code: -32_601, message: `no method ${method}` } })
  }
})
if (MODE === 'deaf') input.on('close', () => setInterval(() => undefined, 1_000))
