import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A package of the registry: its dependencies, and what its module exports. */
export interface RegistryPackage {
  dependencies?: Record<string, string>
  value: string
}

/**
 * A registry of npm packages of version 1.0.0 on this machine. The addresses of its tarballs have the name under which it was
 * asked.
 */
export async function serveRegistry(packages: Readonly<Record<string, RegistryPackage>>): Promise<{ server: Server; address: string }> {
  const tarballs = new Map(Object.entries(packages).map(([name, content]) => [name, pack(name, content)]))
  const server = createServer((request, response) => {
    const [, name = '', file] = /^\/([^/]+)(?:\/-\/(.+))?$/u.exec(request.url ?? '') ?? []
    const tarball = tarballs.get(name)
    if (tarball === undefined) return void response.writeHead(404).end('{}')
    if (file !== undefined) return void response.end(tarball)
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
    const dist = { tarball: `http://${request.headers.host}/${name}/-/${name}-1.0.0.tgz`, integrity }
    const version = { name, version: '1.0.0', dependencies: packages[name]?.dependencies ?? {}, dist }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, address: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function pack(name: string, { dependencies = {}, value }: RegistryPackage): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'toolwright-package-'))
  try {
    mkdirSync(join(folder, 'package'))
    writeFileSync(join(folder, 'package', 'package.json'), JSON.stringify({ name, version: '1.0.0', dependencies }))
    writeFileSync(join(folder, 'package', 'index.js'), `module.exports = ${JSON.stringify(value)}\n`)
    execFileSync('tar', ['-czf', 'package.tgz', 'package'], { cwd: folder })
    return readFileSync(join(folder, 'package.tgz'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
