import { createSession, presets, type Envelope, type Session, type SessionOptions } from 'toolwright/contract'
import { expect, onTestFinished } from 'vitest'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'
import { programText, putCommonFiles } from './project.ts'

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
export interface ContractProject extends Sandbox {
  session: Session
  /** Makes a call as an agent does, and gives what the model reads. */
  read(call: Call): Promise<{ envelope: Envelope; text: string }>
}

/** Opens a session in a project whose commands and files need no agreement. */
export async function openProject(options: Partial<SessionOptions> = {}): Promise<ContractProject> {
  const fixture = makeSandbox()
  putCommonFiles(fixture)
  fixture.put('src/app.ts', programText("import { sum } from './math'\n", '  if (args.length === 0) return 1\n'))
  fixture.put('src/math.ts', 'export const sum = 0\n')
  fixture.put('packages/api/src/server.ts', 'listen(80)\n')
  fixture.put('README.md', '# Project\n')
  fixture.put('package.json', '{ "name": "project" }\n')
  fixture.put('img.png', new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3, 0xff, 0xfe]))
  const session = await createSession({
    workspace: fixture.root,
    manifest: { name: 'words', permissions: [{ permission: 'fs.write', pattern: '**/*.lock', action: 'deny' }] },
    permissions: presets.allowAll,
    skills: { home: false },
    ...options,
  })
  onTestFinished(() => session.close())
  const filled = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('{root}', fixture.root)) as T
  const read = async ([id, args]: Call): Promise<{ envelope: Envelope; text: string }> => {
    const input = filled(args)
    const envelope = await session.call(id, input)
    const tools = session.tools as unknown as Record<string, { toModelOutput?: (given: object) => { value: string } }>
    const shown = tools[id]?.toModelOutput?.({ toolCallId: 'c', input, output: envelope }).value ?? JSON.stringify(envelope)
    const text = shown.replaceAll(fixture.root, '/home/u/project').replace(/"duration_ms":\d+/u, '"duration_ms":0')
    return { envelope, text: text.length > 1_500 ? `${text.slice(0, 300)} … ${text.slice(-600)}` : text }
  }
  return { ...fixture, session, read }
}

/** Makes a mistake: the text says what it has to, and the move that it advises works. */
export async function makeMistake({ call, says, not, next, gives, options }: Mistake): Promise<void> {
  const { read } = await openProject(options)
  const { text } = await read(call)
  expect(text).toMatch(says)
  if (not !== undefined) expect(text).not.toMatch(not)
  expect(text).toMatchSnapshot()
  if (next === undefined) return
  const { envelope } = await read(next)
  expect(envelope).toMatchObject({ type: 'output', ...(gives === undefined ? {} : { data: gives }) })
}
