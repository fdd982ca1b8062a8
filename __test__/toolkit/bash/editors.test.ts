import { afterEach, describe, expect, test } from 'vitest'
import { createTools, type EnvironmentOption } from 'toolwright'
import { makeSandbox } from '../../support/sandbox.ts'

const setBefore = { ...process.env }
afterEach(() => {
  for (const name of ['EDITOR', 'VISUAL', 'GIT_EDITOR', 'HGEDITOR']) {
    if (setBefore[name] === undefined) delete process.env[name]
    else process.env[name] = setBefore[name]
  }
})

/** The output of a script in a repository with two commits, whether or not it fails. */
async function run(script: string, env?: EnvironmentOption): Promise<string> {
  const { bash } = createTools({ rootDir: makeSandbox().root, env, toolTimeoutMs: 20_000 })
  const commit = 'git -c user.name=a -c user.email=a@example.org commit -q'
  const before = `git init -q .; git config user.name a; git config user.email a@example.org
    echo a > a; git add a; ${commit} -m one; echo b > b; git add b; ${commit} -m two; echo c > c; git add c`
  return bash.execute({ cmd: 'sh', args: ['-c', `{ ${before}; } >/dev/null; { ${script}; } 2>&1; echo "ended $?"`] })
}

describe('An editor in a command', () => {
  // Each of them waited for a person until the timeout.
  test.each([
    'git commit',
    'git commit --amend',
    'git tag -a v1',
    'git rebase --autostash -i HEAD~1',
    'git replace --edit HEAD',
    'git notes add',
    'git branch --edit-description',
    '$EDITOR a',
    'eval "$VISUAL a"',
    "python3 -c \"import os, subprocess; raise SystemExit(subprocess.call(os.environ['EDITOR'] + ' a', shell=True))\"",
  ])('%s ends at once', async (script) => {
    process.env['EDITOR'] = process.env['HGEDITOR'] = 'sleep 60; :'
    process.env['VISUAL'] = process.env['GIT_EDITOR'] = 'sleep 60; :'
    const text = await run(script)
    expect(text).not.toContain('ended 0')
    if (script !== '$EDITOR a') {
      expect(text).toContain('There is no editor')
      expect(text).toContain('GIT_SEQUENCE_EDITOR')
    } else expect(text).toContain('commands_have_no_editor')
  })

  test.each([
    ['git commit -q -m three', '3'],
    [`EDITOR='sh -c "echo three > \\$0"' git commit -q`, '3'],
    [`VISUAL='sh -c "echo three > \\$0"' git commit -q`, '3'],
    [`GIT_EDITOR='sh -c "echo three > \\$0"' git commit -q`, '3'],
    [`git -c core.editor='sh -c "echo three > \\$0"' commit -q`, '3'],
    [`git commit -q -m three; GIT_SEQUENCE_EDITOR='sed -i "s/^pick/drop/"' git rebase -q -i HEAD~2`, '1'],
    [`git commit -q -m three; git -c sequence.editor='sed -i s/^pick/drop/' rebase -q -i HEAD~1`, '2'],
    ['git commit -q --amend --no-edit', '2'],
    ['GIT_EDITOR=true git commit -q --amend', '2'],
  ])('%s runs', async (script, count) => {
    expect(await run(`${script} && git rev-list --count HEAD`)).toBe(`${count}\nended 0\n`)
  })

  test('the host program chooses another', async () => {
    const set = { EDITOR: 'sh -c "echo three > \\$0"' }
    expect(await run('git commit -q && git log -1 --format=%s', { set })).toBe('three\nended 0\n')
    process.env['GIT_EDITOR'] = set.EDITOR
    expect(await run('git commit -q && git log -1 --format=%s', { allow: ['GIT_EDITOR'] })).toBe('three\nended 0\n')
    expect(await run('git commit -q && git log -1 --format=%s', 'inherit')).toBe('three\nended 0\n')
  })
})
