import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { isRunning } from '../../support/processes.ts'
import { programs } from './programs.ts'
import { token } from './token.ts'
import type { User } from './users.ts'

/** Where the victim has what an attack is after. */
interface Facts {
  pid: number
  address: number
  length: number
  held: number
  written: number
  terminal: string
  shm: number
  sem: number
  msg: number
  key: boolean
}

/** In which state it is. */
export interface State {
  memory: string
  typed: string
  echoed: string
  files: number
  processors: number
  ioClass: number
  shared: string
  semaphore: number
  messages: number
  queued: number
  removed: boolean
}

/** A process of the same user beside the host, that is to be left alone. */
export interface Victim extends Facts {
  /** In its memory, in its environment, in a descriptor, in its queues. */
  secret: string
  /** What its queues and its key are called. */
  name: string
  state(): Promise<State>
  isRunning(): boolean
  end(): Promise<void>
}

/** Starts a victim whose working directory is `directory`. */
export async function startVictim(user: User, directory: string, kind: 'plain' | 'ipc' | 'apart'): Promise<Victim> {
  const { attack } = await programs()
  const [secret, name] = [token(), token()]
  const own = [attack, 'victim', directory, name, kind]
  const [program = '', ...args] = user.uid === process.getuid?.() ? own : [attack, 'as', String(user.uid), '--', ...own]
  const child: ChildProcess = spawn(program, args, {
    env: { ...process.env, VICTIM_SECRET: secret },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
  })
  child.stdin?.on('error', () => undefined)
  const waiting: ((line: string) => void)[] = []
  const next = async (): Promise<string> => {
    const line = new Promise<string>((resolve) => {
      waiting.push(resolve)
    })
    // One that was killed says nothing more.
    return Promise.race([line, gone.then(() => Promise.reject(new Error('the victim has ended')))])
  }
  const first = next()
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('{')) waiting.shift()?.(line)
      else if (line.startsWith('refused')) waiting.shift()?.(`{"refused":${JSON.stringify(line)}}`)
    })
  }
  const facts = JSON.parse(await first) as Facts & { refused?: string }
  if (facts.refused !== undefined) throw new Error(`no victim: ${facts.refused}`)
  return {
    ...facts,
    secret,
    name,
    async state() {
      const answer = next()
      child.stdin?.write('state\n')
      return JSON.parse(await answer) as State
    },
    isRunning: () => isRunning(facts.pid),
    async end() {
      child.kill('SIGCONT')
      child.stdin?.end()
      const late = setTimeout(() => child.kill('SIGKILL'), 1_000)
      await gone
      clearTimeout(late)
    },
  }
}
