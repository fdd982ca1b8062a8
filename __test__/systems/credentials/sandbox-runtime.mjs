/** Runs a script in sandbox-runtime, with `TOKEN` masked. Arguments: the folder of the package, the directory that is written, and the script. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, root, script] = process.argv.slice(2)
const entry = join(folder, 'node_modules/@anthropic-ai/sandbox-runtime/dist/index.js')
const { SandboxManager } = await import(pathToFileURL(entry).href)
const host = 'api.cred.test'
await SandboxManager.initialize({
  // A name that leads to the loopback interface is refused unless its address is allowed too.
  network: { allowedDomains: [host, '127.0.0.1:443'], deniedDomains: [], tlsTerminate: {} },
  filesystem: { denyRead: [], allowWrite: [root, '/tmp'], denyWrite: [] },
  credentials: { envVars: [{ name: 'TOKEN', mode: 'mask', injectHosts: [host] }] },
})
const wrapped = await SandboxManager.wrapWithSandbox(`cd '${root}' && bash '${script}'`)
const child = spawn(wrapped, { shell: true, stdio: 'inherit' })
child.on('exit', async (code) => {
  await SandboxManager.reset()
  process.exit(code ?? 1)
})
