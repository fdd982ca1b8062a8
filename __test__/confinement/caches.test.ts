// docs/security.md, "Caches": commands write to caches of the user, and the user's stay as they are
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTools, sandboxReport, type CreateToolsOptions } from 'toolwright'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'

const isConfined = process.platform === 'linux' && (await sandboxReport()).files.level === 'kernel'
/** Commands have another `/tmp`. */
const above = fileURLToPath(new URL('../../target/', import.meta.url))

let home: string
beforeEach(() => {
  mkdirSync(above, { recursive: true })
  home = mkdtempSync(join(above, 'home-'))
  const before = process.env['HOME']
  process.env['HOME'] = home
  onTestFinished(() => {
    process.env['HOME'] = before
    rmSync(home, { recursive: true, force: true })
  })
  for (const directory of ['root', '.npm', 'other']) mkdirSync(join(home, directory))
  writeFileSync(join(home, '.npm/kept'), 'mine\n')
})

const tools = (options: Partial<CreateToolsOptions> = {}) => createTools({ rootDir: join(home, 'root'), networkGuard: 'off', ...options })
let calls = 0
async function run({ bash }: ReturnType<typeof tools>, script: string): Promise<string> {
  calls += 1
  const input = { cmd: 'sh', args: ['-c', script] }
  try {
    return String(await bash.execute(input, { toolCallId: `c${calls}` }))
  } catch (error) {
    return (error as Error).message.replaceAll(home, 'HOME')
  }
}

describe.skipIf(!isConfined)('a cache of the user', () => {
  test('takes what commands write, for later commands of the set', async () => {
    const set = tools()
    expect(await run(set, 'cat ~/.npm/kept')).toBe('mine\n')
    // A session that another program opens or ends meanwhile gives the set another sandbox, and with it other forks.
    let read = ''
    for (let tries = 0; tries < 10 && read !== 'theirs\nx\n'; tries += 1) {
      expect(await run(set, 'echo theirs > ~/.npm/kept && mkdir -p ~/.npm/_cacache && echo x > ~/.npm/_cacache/x && echo done')).toBe(
        'done\n',
      )
      read = await run(set, 'cat ~/.npm/kept ~/.npm/_cacache/x')
    }
    expect(read).toBe('theirs\nx\n')
    expect(readdirSync(join(home, '.npm'))).toEqual(['kept'])
    expect(readFileSync(join(home, '.npm/kept'), 'utf8')).toBe('mine\n')
  })

  test('installs a package', { timeout: 60_000 }, async () => {
    const script = `mkdir p q; echo '{"name":"p","version":"1.0.0"}' > p/package.json; echo '{"name":"q","version":"1.0.0"}' > q/package.json
      (cd p && npm pack --silent) && cd q && npm install --silent --no-audit --no-fund ../p/p-1.0.0.tgz && ls node_modules`
    expect(await run(tools(), script)).toContain('p\n')
    expect(readdirSync(join(home, '.npm'))).toEqual(['kept'])
  })

  test('is the user’s own where it is granted, and closed where it is closed', async () => {
    expect(await run(tools({ sandbox: { writableRoots: [join(home, '.npm')] } }), 'echo x > ~/.npm/made && echo done')).toBe('done\n')
    expect(readdirSync(join(home, '.npm')).toSorted()).toEqual(['kept', 'made'])
    expect(
      await run(tools({ sandbox: { denyRead: [join(home, '.npm')] } }), 'cat ~/.npm/kept; echo x > ~/.npm/y; ls -A ~/.npm'),
    ).not.toContain('mine')
  })

  test('that is not there is named with the variable that leads elsewhere', async () => {
    const note = async (script: string) => (await run(tools(), script)).split('\n').at(-1)
    expect(await note('mkdir -p ~/.cache/go-build/00')).toMatchInlineSnapshot(
      `"This may be the sandbox: \`~/.cache\` is not there, and commands do not write to the home directory; set XDG_CACHE_HOME=\${TMPDIR:-/tmp}/cache, or have the host make it."`,
    )
    // The next move works.
    expect(await run(tools(), 'XDG_CACHE_HOME=${TMPDIR:-/tmp}/cache; mkdir -p $XDG_CACHE_HOME/go-build && echo done')).toBe('done\n')
    expect(await note('touch ~/other/x')).toMatchInlineSnapshot(
      `"This may be the sandbox: only the root directory and the temporary directory can be written; work there, run a program that keeps its files in the home directory with HOME=\${TMPDIR:-/tmp}, or have the host add sandbox.writableRoots."`,
    )
    expect(await note('mkdir -p ~/.stack/pantry')).toMatchInlineSnapshot(
      `"This may be the sandbox: only the root directory and the temporary directory can be written; work there, run a program that keeps its files in the home directory with HOME=\${TMPDIR:-/tmp}, or have the host add sandbox.writableRoots."`,
    )
  })
})
