import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { listenTcp } from './listeners.ts'
import { PATIENCE } from './scene.ts'

/** For so long somebody is knocked for who may still be on their way. */
const DESCRIPTOR_WAIT_MS = 500 * PATIENCE

/**
 * A port that was free a moment ago. The kernel hands out none of these by itself, so that meanwhile
 * neither another listener gets it nor whoever knocks there, who would then have reached themselves.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000)
    try {
      const { close } = await listenTcp('127.0.0.1', port)
      await close()
      await pause(5)
      return port
    } catch {
      // Somebody has it.
    }
  }
}

/** Knocks until somebody says the token. A stranger who says nothing is not waited for. */
export async function answered(port: number, token: string): Promise<boolean> {
  for (const end = performance.now() + DESCRIPTOR_WAIT_MS; performance.now() < end;) {
    const socket = connect(port, '127.0.0.1')
    const late = setTimeout(() => socket.destroy(), end - performance.now())
    let text = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    socket.on('error', () => undefined)
    await new Promise((resolve) => socket.once('close', resolve))
    clearTimeout(late)
    if (text.includes(token)) return true
    await pause(20)
  }
  return false
}

/** The same with datagrams. */
export async function answeredByDatagram(port: number, token: string): Promise<boolean> {
  const socket = createSocket('udp4')
  let text = ''
  socket.on('message', (message) => {
    text += message.toString()
  })
  socket.on('error', () => undefined)
  for (const end = performance.now() + DESCRIPTOR_WAIT_MS; performance.now() < end && !text.includes(token);) {
    socket.send('anybody?', port, '127.0.0.1')
    await pause(20)
  }
  socket.close()
  return text.includes(token)
}
