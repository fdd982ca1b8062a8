// docs/tools.md, "Hosts by name": the host program is killed while its command has a connection, or waits for one
import { spawn } from 'node:child_process'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { expectGone, sleepingMark } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { isHeld } from './asking-host.ts'

const program = fileURLToPath(new URL('killed-host-process.ts', import.meta.url))

/** A server that writes a line ten times a second, for ever. */
async function serveSlowly(): Promise<{ address: string; open: Set<Socket> }> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const writing = setInterval(() => socket.write('line\n'), 100)
    socket.on('error', () => undefined).on('close', () => (clearInterval(writing), open.delete(socket)))
    socket.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, open }
}

describe.skipIf(!isHeld)('a host program that is killed', { timeout: 60_000 }, () => {
  test.each(['given', 'relayed', 'asked'])('leaves no connection and no process: %s', async (mode) => {
    const { address, open } = await serveSlowly()
    const mark = sleepingMark(60)
    const host = spawn(process.execPath, [program, makeSandbox().root, address, mode, mark], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void host.kill('SIGKILL'))
    let output = ''
    host.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    await expect.poll(() => (mode === 'asked' ? output : open.size), { timeout: 30_000 }).toEqual(mode === 'asked' ? 'asked\n' : 1)
    host.kill('SIGKILL')
    await expect.poll(() => open.size, { timeout: 10_000 }).toBe(0)
    await expectGone(mark)
  })
})
