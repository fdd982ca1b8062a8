import { createSession, presets, type Envelope, type Session, type SessionOptions } from 'toolwright/contract'
import { onTestFinished } from 'vitest'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

/** A call of a tool: its id and its arguments. */
export type Call = readonly [id: string, args: unknown]

/** A mistake of the kind that models make, what the answer has to say, and the move that it advises. */
export interface Mistake {
  call: Call
  /** What the verdict asks of the text. */
  says: RegExp
  /** What the text must not say. */
  not?: RegExp
  /** The move that the text names: made by the test, and it has to work. `{root}` is the workspace. */
  next?: Call
  /** What the move then gives. */
  gives?: unknown
  options?: Partial<SessionOptions>
}

/** A small project, as a model finds it. */
export interface Stage extends Sandbox {
  session: Session
  /** Makes a call as an agent does, and gives what the model reads. */
  told(call: Call): Promise<{ envelope: Envelope; text: string }>
}

const app = `import { sum } from './math'
export function main(args: string[]) {
  if (args.length === 0) return 1
  const n = args.map(Number)
  console.log(sum(n))
}

export function helper() {
  return 1
}

export function other() {
  return 1
}
`

/** Opens a session in a project whose commands and files need no agreement. */
export async function openStage(options: Partial<SessionOptions> = {}): Promise<Stage> {
  const box = makeSandbox()
  box.put('src/app.ts', app)
  box.put('src/math.ts', 'export const sum = 0\n')
  box.put('packages/api/src/server.ts', 'listen(80)\n')
  box.put('README.md', '# Project\n')
  box.put('package.json', '{ "name": "project" }\n')
  box.put('empty.txt', '')
  box.put('img.png', new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3, 0xff, 0xfe]))
  box.put('big.log', Array.from({ length: 30_000 }, (_, index) => `line ${index}\n`).join(''))
  const session = await createSession({
    workspace: box.root,
    manifest: { name: 'words', permissions: [{ permission: 'fs.write', pattern: '**/*.lock', action: 'deny' }] },
    permissions: presets.allowAll,
    skills: { home: false },
    ...options,
  })
  onTestFinished(() => session.close())
  const filled = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('{root}', box.root)) as T
  const told = async ([id, args]: Call): Promise<{ envelope: Envelope; text: string }> => {
    const input = filled(args)
    const envelope = await session.call(id, input)
    const tools = session.tools as unknown as Record<string, { toModelOutput?: (given: object) => { value: string } }>
    const shown = tools[id]?.toModelOutput?.({ toolCallId: 'c', input, output: envelope }).value ?? JSON.stringify(envelope)
    const text = shown.replaceAll(box.root, '/home/u/project').replace(/"duration_ms":\d+/u, '"duration_ms":0')
    return { envelope, text: text.length > 1_500 ? `${text.slice(0, 300)} … ${text.slice(-600)}` : text }
  }
  return { ...box, session, told }
}
