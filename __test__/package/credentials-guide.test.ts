// docs/guides/credentials.md: its programs and commands, as they are printed, against a host on the loopback interface
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { isHeld } from '../confinement/asking-host.ts'
import { codeBlocks } from '../support/code-blocks.ts'
import { CANARY, CANARY_FORMS, CredentialHost } from '../support/credential-host.ts'
import { guideFolder, runGuide } from '../support/guide-program.ts'
import { makeSandbox } from '../support/sandbox.ts'

const page = 'guides/credentials.md'
const NAMES = ['api.github.com', 'github.com', 'registry.npmjs.org', 'api.acme.example']

describe.skipIf(!isHeld)('the guide to credentials', { timeout: 120_000 }, () => {
  const host = CredentialHost.ofSuite(NAMES)
  beforeAll(() => {
    const version = { name: 'private-package', version: '1.2.3', dist: { tarball: 'https://registry.npmjs.org/p.tgz' } }
    host.pages.set(
      '/private-package',
      JSON.stringify({ name: 'private-package', 'dist-tags': { latest: '1.2.3' }, versions: { '1.2.3': version } }),
    )
  })

  /** Runs a program with names that lead to the host, and a command of its tools at the end. */
  async function tried(program: string, script: string, args: string[] = []) {
    const folder = guideFolder(page)
    mkdirSync(join(folder, 'project'), { recursive: true })
    writeFileSync(join(folder, 'authority.pem'), host.ca)
    const addresses = JSON.stringify(Object.fromEntries(NAMES.map((name) => [name, `127.0.0.1:${host.port}`])))
    const own = args.length > 0 ? '' : `authorities: [(await import('node:fs')).readFileSync('authority.pem', 'utf8')],`
    const text = readFileSync(join(folder, program), 'utf8').replace('network: {', `network: { addresses: ${addresses}, ${own}`)
    // `npm test` passes its own settings on, and with them another `.npmrc`.
    const ran = `const command = { cmd: 'bash', args: ['-c', ${JSON.stringify(`export HOME=$PWD; unset ${'${!npm_config_@}'}; ${script}`)}] }
console.log(await tools.bash.execute(command, {}).catch((error) => error.message))`
    writeFileSync(join(folder, `tried-${program}`), `${text}\n${ran}\n`)
    const env = { MY_GITHUB_TOKEN: CANARY, MY_NPM_TOKEN: CANARY, MY_ACME_KEY: CANARY }
    const { code, stdout, stderr } = await runGuide(folder, `tried-${program}`, { args, env })
    for (const form of CANARY_FORMS) expect(`${stdout}${stderr}`).not.toContain(form)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
  }

  test('GitHub: git and curl', async () => {
    const { outside } = makeSandbox()
    execFileSync('git', ['init', '-q', '--bare', '-b', 'main', join(outside, 'site.git')])
    execFileSync('git', ['-C', join(outside, 'site.git'), 'config', 'http.receivepack', 'true'])
    host.repository = outside
    const block = codeBlocks(page).find(({ code }) => code.includes('credential.helper'))
    const [helper, push, curl] = (block?.code ?? '').trimEnd().split('\n')
    const made = 'git init -q -b main; git config user.name x; git config user.email x@y.z; git commit -q --allow-empty -m first'
    const remote = 'git remote add origin https://github.com/git/site.git'
    const output = await tried(
      'github.mjs',
      `set -e; ${helper}; ${made}; ${remote}; ${push} 2>&1; ${curl}; curl -sS -X DELETE -H "Authorization: Bearer $GITHUB_TOKEN" https://api.github.com/repos/acme/site`,
    )
    expect(output).toContain('main')
    expect(output).toContain('"url":"/repos/acme/site"')
    expect(output).toContain('GITHUB_TOKEN may be sent with GET /repos/acme/** only')
    expect(execFileSync('git', ['-C', join(outside, 'site.git'), 'log', '--format=%s', 'main'], { encoding: 'utf8' })).toBe('first\n')
  })

  test('npm reads a private package', async () => {
    const [, line] = /`(\/\/registry[^`]+)`/u.exec(readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')) ?? []
    const output = await tried('npm.mjs', `printf '%s\\n' '${line}' >.npmrc; npm view private-package version`)
    expect(output).toContain('1.2.3')
  })

  test('an API of a company', async () => {
    const output = await tried('company.mjs', 'curl -sS -H "x-api-key: $ACME_KEY" https://api.acme.example/', ['authority.pem'])
    expect(output).toContain('"url":"/"')
    expect(host.last.headers['x-api-key']).toBe(CANARY)
  })
})
