import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * A program that ours is compared with. What it needs is installed in a folder of its own.
 * @typedef {object} Peer
 * @property {string[]} packages installed with what they depend on
 * @property {string[]} [alone] installed without: the original's tools need little of its tree
 * @property {string} entry a module that gives what the benchmark uses
 */

/** @type {Record<string, Peer>} */
const peers = {
  smithers: {
    packages: ['ai@7.0.173', 'zod@4.6.7', 'diff@9.0.0', 'effect@4.0.0-beta.102'],
    alone: [
      'smithers-orchestrator@0.32.0',
      '@smithers-orchestrator/tool-context@0.32.0',
      '@smithers-orchestrator/sandbox@0.32.0',
      '@smithers-orchestrator/errors@0.32.0',
    ],
    entry: "export { tools, runWithToolContext } from 'smithers-orchestrator/tools'\n",
  },
  rg: { packages: ['@vscode/ripgrep@1.18.0'], entry: "export { rgPath } from '@vscode/ripgrep'\n" },
  diff: { packages: ['diff@9.0.0'], entry: "export { applyPatch } from 'diff'\n" },
  pi: { packages: ['@oh-my-pi/pi-natives@18.2.3'], entry: "export { grep } from '@oh-my-pi/pi-natives'\n" },
  mastra: {
    packages: ['@mastra/core@1.71.0', 'zod@4.6.7', 'vscode-jsonrpc@10.0.0', 'vscode-languageserver-protocol@3.18.5'],
    entry: "export { createWorkspaceTools, LocalFilesystem, LocalSandbox, Workspace } from '@mastra/core/workspace'\n",
  },
}

/**
 * Installs what is not installed yet.
 * @param {string} cache
 * @param {(text: string) => void} say
 * @returns {Promise<Record<string, { entry?: string, packages: string[], problem?: string }>>}
 */
export async function installPeers(cache, say) {
  const found = {}
  for (const [name, peer] of Object.entries(peers)) {
    const packages = [...peer.packages, ...(peer.alone ?? [])]
    try {
      found[name] = { packages, entry: await install(name, peer, cache, say) }
    } catch (error) {
      const problem = `cannot be installed: ${String(error.stderr || error.message)
        .trim()
        .split('\n')
        .at(-1)}`
      say(`${name}: ${problem}`)
      found[name] = { packages, problem }
    }
  }
  return found
}

async function install(name, peer, cache, say) {
  const folder = join(cache, 'peers', name)
  const stamp = JSON.stringify(peer)
  const entry = join(folder, 'entry.mjs')
  if (existsSync(entry) && readFileSync(join(folder, 'stamp.json'), 'utf8') === stamp) return entry

  say(`installing ${name} …`)
  const unfinished = `${folder}.${process.pid}`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  try {
    writeFileSync(join(unfinished, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    // None of them needs its install script; ripgrep's binary comes as a package.
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--save-exact']
    await run('npm', ['install', ...options, ...peer.packages], { cwd: unfinished })
    for (const spec of peer.alone ?? []) await unpack(spec, unfinished)
    writeFileSync(join(unfinished, 'stamp.json'), stamp)
    writeFileSync(join(unfinished, 'entry.mjs'), peer.entry)
    rmSync(folder, { recursive: true, force: true })
    renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return entry
}

/** Puts one package in its place without its dependencies; npm checks what it downloads. */
async function unpack(spec, folder) {
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', spec], { cwd: folder })
  const [{ name, filename }] = Object.values(JSON.parse(stdout))
  const target = join(folder, 'node_modules', name)
  mkdirSync(target, { recursive: true })
  await run('tar', ['-xzf', filename, '-C', target, '--strip-components=1'], { cwd: folder })
  rmSync(join(folder, filename))
}
