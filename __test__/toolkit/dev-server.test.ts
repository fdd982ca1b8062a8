// A development server as an agent uses it: Vite, with a project of two files.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTools } from 'toolwright'
import { createNetworkSandboxSession } from 'toolwright/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const vite = fileURLToPath(new URL('../../node_modules/vite/bin/vite.js', import.meta.url))
const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
const command = (port: number): string => `exec ${node} ${vite} --host 127.0.0.1 --port ${port} --strictPort`
/** Fetches in a later command, by the name that browsers use. */
const fetching = (url: string): string => `fetch(${JSON.stringify(url)}).then((it) => it.text()).then(console.log)`

function makeProject() {
  const box = makeSandbox()
  box.put('index.html', '<!doctype html><title>hello</title><script type="module" src="/src/main.ts"></script>\n')
  mkdirSync(join(box.root, 'src'))
  box.put('src/main.ts', 'const name: string = "from vite"\ndocument.title = name\n')
  box.put('package.json', '{ "type": "module", "private": true }\n')
  return box
}

describe('Vite', () => {
  test('is started, found at its port, fetched by the next command, and stopped', { timeout: 120_000 }, async () => {
    await using tools = createTools({ rootDir: makeProject().root, processes: true })
    const { process_id, ...started } = await tools.process_start.execute({ command: command(5_173), wait_ms: 90_000 })
    expect(started).toMatchObject({ running: true, port: 5_173 })
    const fetched = (path: string) => tools.bash.execute({ cmd: node, args: ['-e', fetching(`http://127.0.0.1:5173${path}`)] })
    expect(await fetched('/')).toContain('<title>hello</title>')
    const module = await fetched('/src/main.ts')
    expect(module).toContain('const name = "from vite"')
    expect(module).not.toContain(': string')
    expect(await tools.process_stop.execute({ process_id })).toMatchObject({ running: false })
    await expect(fetched('/')).rejects.toMatchObject({ message: expect.stringContaining('ECONNREFUSED') as string })
  })

  test('of a network session is reached by the next command and from this machine', { timeout: 120_000 }, async () => {
    const session = createNetworkSandboxSession({ rootDir: makeProject().root, ports: [5_174] })
    onTestFinished(() => session.destroy())
    const server = await session.spawn({ command: command(5_174) })
    void server.stdout.pipeTo(new WritableStream())
    void server.stderr.pipeTo(new WritableStream())
    const { url } = await session.getPortEndpoint({ port: 5_174 })
    expect(await (await fetch(url)).text()).toContain('<title>hello</title>')
    const { stdout } = await session.run({ command: `${node} -e '${fetching('http://127.0.0.1:5174/src/main.ts')}'` })
    expect(stdout).toContain('const name = "from vite"')
    await server.kill()
    await expect(fetch(url)).rejects.toThrow()
  })
})
