import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'
import { connectTo } from './mcp-client.ts'

const SECRET = 'the secret beside the root'

interface Attack {
  tool: string
  args: (fixture: Sandbox) => Record<string, unknown>
}

const read = (path: (fixture: Sandbox) => string): Attack => ({ tool: 'read', args: (fixture) => ({ path: path(fixture) }) })
const write = (path: (fixture: Sandbox) => string): Attack => ({
  tool: 'write',
  args: (fixture) => ({ path: path(fixture), content: 'taken' }),
})
const edit = (path: (fixture: Sandbox) => string): Attack => ({
  tool: 'edit',
  args: (fixture) => ({ path: path(fixture), old_string: 'secret', new_string: 'taken' }),
})
const bash = (command: (fixture: Sandbox) => string): Attack => ({ tool: 'bash', args: (fixture) => ({ command: command(fixture) }) })
const out = (fixture: Sandbox): string => `${fixture.outside}/secret.txt`

/** The classes of attack that were reported against other servers for files and commands. */
const attacks: Record<string, Attack[]> = {
  'a path with the root as its prefix (CVE-2025-53110)': [
    read(({ root }) => `${root}-other/secret.txt`),
    write(({ root }) => `${root}-other/new.txt`),
    edit(({ root }) => `${root}-other/secret.txt`),
    { tool: 'glob', args: ({ root }) => ({ pattern: '**', path: `${root}-other` }) },
  ],
  'a link to a file outside (CVE-2025-53109)': [read(() => 'link.txt'), write(() => 'link.txt'), edit(() => 'link.txt')],
  'a link to a directory outside, for old and for new files (CVE-2025-53109, DesktopCommander #219)': [
    read(() => 'linked/secret.txt'),
    write(() => 'linked/new.txt'),
    edit(() => 'linked/secret.txt'),
    { tool: 'grep', args: () => ({ pattern: 'secret', path: 'linked' }) },
    { tool: 'glob', args: () => ({ pattern: '*', path: 'linked' }) },
  ],
  'a link whose target does not exist yet (servers #1845)': [write(() => 'dangling.txt')],
  'a chain of links': [read(() => 'chain/secret.txt'), write(() => 'chain/new.txt')],
  'steps up': [
    read(({ outside }) => `../${basename(outside)}/secret.txt`),
    read(({ outside }) => `inner/../../${basename(outside)}/secret.txt`),
    read(({ outside }) => `./inner/./..//../${basename(outside)}/secret.txt`),
    write(({ outside }) => `../${basename(outside)}/new.txt`),
    write(({ outside }) => `missing/../../${basename(outside)}/new.txt`),
    { tool: 'grep', args: () => ({ pattern: 'secret', path: '..' }) },
  ],
  'steps up in a pattern': [
    { tool: 'glob', args: ({ outside }) => ({ pattern: `../${basename(outside)}/*` }) },
    { tool: 'glob', args: ({ outside }) => ({ pattern: `${outside}/*` }) },
    { tool: 'grep', args: () => ({ pattern: 'secret', glob: '../**' }) },
  ],
  'steps up through a link': [read(({ outside }) => `linked/../${basename(outside)}/secret.txt`)],
  'an absolute path (cyanheads #21)': [read(out), write(({ outside }) => `${outside}/new.txt`), edit(out), read(() => '/etc/passwd')],
  'encoded steps': [
    read(({ outside }) => `%2e%2e/${basename(outside)}/secret.txt`),
    read(({ outside }) => `..%2f${basename(outside)}%2fsecret.txt`),
    read(({ outside }) => `..\\${basename(outside)}\\secret.txt`),
    read(({ outside }) => `\u{ff0e}\u{ff0e}/${basename(outside)}/secret.txt`),
  ],
  'a URL': [read((fixture) => `file://${out(fixture)}`)],
  'the home directory': [read(() => '~/.ssh/id_rsa'), write(({ outside }) => `~/../..${outside}/new.txt`)],
  'a NUL character that ends the path for the system': [
    read((fixture) => `inner/a.txt\0${out(fixture)}`),
    read((fixture) => `${out(fixture)}\0.txt`),
  ],
  'what the kernel shows of the process': [
    read((fixture) => `/proc/self/root${out(fixture)}`),
    read((fixture) => `/proc/self/cwd/../${basename(fixture.outside)}/secret.txt`),
    read(() => '/proc/self/environ'),
    read(() => '/dev/fd/0'),
  ],
  'a command that names the file (CVE-2026-25871, DesktopCommander #403)': [
    bash((fixture) => `cat ${out(fixture)}`),
    bash(({ outside }) => `cd ../${basename(outside)} && cat secret.txt`),
    bash(({ outside }) => `cp ../${basename(outside)}/secret.txt . && cat secret.txt`),
    bash(({ outside }) => `echo taken > ${outside}/new.txt`),
    bash(() => 'cat link.txt linked/secret.txt'),
    bash((fixture) => `ln -s ${out(fixture)} fresh && cat fresh`),
  ],
  'a command that hides what it does from a check of its words (DesktopCommander #420)': [
    bash((fixture) => `sh -c 'ca''t ${out(fixture)}'`),
    bash((fixture) => `eval "$(echo Y2F0Cg== | base64 -d) ${out(fixture)}"`),
    bash((fixture) => `python3 -c "print(open('${out(fixture)}').read())"`),
    bash((fixture) => `x=${out(fixture)}; while read -r l; do echo "$l"; done < "$x"`),
    bash((fixture) => `/usr/bin/env cat ${out(fixture)}`),
    bash((fixture) => `tar cf - ${out(fixture)} | tar xOf -`),
  ],
  'a directory to run in': [{ tool: 'bash', args: ({ outside }) => ({ command: 'cat secret.txt', workdir: outside }) }],
}

test.each(Object.entries(attacks))('%s leads nowhere', async (_, rows) => {
  const fixture = makeSandbox()
  fixture.put('inner/a.txt', 'mine')
  mkdirSync(`${fixture.root}-other`)
  for (const folder of [fixture.outside, `${fixture.root}-other`]) writeFileSync(`${folder}/secret.txt`, SECRET)
  symlinkSync(out(fixture), fixture.at('link.txt'))
  symlinkSync(fixture.outside, fixture.at('linked'))
  symlinkSync('linked', fixture.at('chain'))
  symlinkSync(`${fixture.outside}/new.txt`, fixture.at('dangling.txt'))
  // Everything is allowed, so that nothing but the roots stands in the way.
  const { call } = await connectTo(fixture.root, '2026', { args: ['--allow', '*'] })
  for (const { tool, args } of rows) {
    const given = args(fixture)
    const result = await call(tool, given)
    expect([given, result.text.includes(SECRET) || result.text.includes('root:x:0')]).toEqual([given, false])
    // A search that finds nothing and a command that fails are results.
    const harmless = result.isError || tool === 'bash' || tool === 'glob' || tool === 'grep'
    expect([given, result.text, harmless]).toEqual([given, result.text, true])
    if (tool === 'glob') expect([given, result.text.includes('secret.txt')]).toEqual([given, false])
    for (const folder of [fixture.outside, `${fixture.root}-other`]) {
      expect([given, readdirSync(folder)]).toEqual([given, ['secret.txt']])
      expect(readFileSync(`${folder}/secret.txt`, 'utf8')).toBe(SECRET)
    }
  }
})

/** What was reported against lists of allowed commands: a rule allows its words alone. */
test.each([
  'echo a; touch taken',
  'echo a && touch taken',
  'echo a | tee taken',
  'echo a\ntouch taken',
  'echo $(touch taken)',
  'echo `touch taken`',
  'echo <(touch taken)',
  'echo a > taken',
  'echo a & touch taken',
  'FOO=1 touch taken',
  '/bin/sh -c "touch taken"',
  'env touch taken',
  'echoo; touch taken',
])('--allow "bash:echo *" does not allow %j', async (command) => {
  const fixture = makeSandbox()
  const { call } = await connectTo(fixture.root, '2026', { args: ['--allow', 'bash:echo *'] })
  expect(await call('bash', { command })).toMatchObject({ code: 'permission_unattended' })
  expect(readdirSync(fixture.root)).not.toContain('taken')
})
