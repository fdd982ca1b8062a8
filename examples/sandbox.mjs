// The sandbox session of the AI SDK: commands and files of one directory, a command with input, and a server at an address of this
// machine. Without a model:
//
//   npm install toolwright
//   node sandbox.mjs
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createNetworkSandboxSession } from 'toolwright/sandbox'

const rootDir = await mkdtemp(join(tmpdir(), 'sandbox-'))
const sandbox = createNetworkSandboxSession({ rootDir, home: 'private', ports: [8000] })
console.log(sandbox.description)

// A file, and a command that reads it. Variables of one command appear in no record.
await sandbox.writeTextFile({ path: 'hello.sh', content: 'echo "hello, $NAME"; echo once > /tmp/seen' })
console.log('run:', (await sandbox.run({ command: 'bash hello.sh', env: { NAME: 'world' } })).stdout.trim())
// File methods see what commands see, in their private /tmp as well.
console.log('readTextFile:', (await sandbox.readTextFile({ path: '/tmp/seen' }))?.trim())
// What commands may not do, neither may file methods.
await sandbox.writeTextFile({ path: '/etc/hello', content: '' }).catch(({ code }) => console.log('writeTextFile:', code))

// A command with input and output as streams.
const sort = await sandbox.spawn({ command: 'sort', stdin: true })
const input = sort.stdin.getWriter()
await input.write(new TextEncoder().encode('b\na\n'))
await input.close()
console.log('spawn:', JSON.stringify(await new Response(sort.stdout).text()))

// A server, which this machine reaches at an address of its own.
const page = `require('http').createServer((_, to) => to.end('a page')).listen(8000, '127.0.0.1')`
const server = await sandbox.spawn({ command: `exec node -e "${page}"` })
const { url } = await sandbox.getPortEndpoint({ port: 8000 })
console.log('fetch:', await (await fetch(url)).text())
await server.kill()

await sandbox.destroy()
await rm(rootDir, { recursive: true })
