import { allWatchdogs, commandWatchdog, networkWatchdog, type Verdict, type WatchedCall, type Watchdog } from 'toolwright/contract'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { dataOf, failureOf, manifest, openScene, rule, testTool } from '../scene.ts'

describe('the watchdog', () => {
  test('R42 it sees tool, checked arguments, manifest and session, and cannot change what is done', async () => {
    const seen: WatchedCall[] = []
    const { call, session } = await openScene({
      watchdog: (watched) => {
        seen.push(watched)
        ;(watched.args as { todos: unknown[] }).todos.push('more')
        return { action: 'allow' }
      },
    })
    expect(dataOf(await call('todo', { todos: [] }, { callId: 'c1' }))).toEqual({ count: 0 })
    expect(seen).toMatchObject([{ tool: 'todo', manifest: { name: 'test' }, session_id: session.id, call_id: 'c1' }])
  })

  test('R44 nothing is left waiting when it has answered', async () => {
    const { call } = await openScene({ watchdog: () => ({ action: 'allow' }) })
    await call('todo', { todos: [] }) // what is loaded then may wait for something itself
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    expect((await call('todo', { todos: [] })).type).toBe('output')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('R42 its reason reaches the model word for word', async () => {
    const reason = '  No: "rm" is §7 forbidden. \n Ask 🙂 '
    const { call } = await openScene({ watchdog: () => ({ action: 'deny', reason }) })
    expect(failureOf(await call('todo', { todos: [] }))).toEqual({ code: 'watchdog_denied', text: reason })
  })

  test('R43 an out-of-scope call never reaches it, and its allow cannot rescue one', async () => {
    let asked = 0
    const { call } = await openScene({
      watchdog: () => {
        asked += 1
        return { action: 'allow' }
      },
    })
    expect(failureOf(await call('read', { path: '/etc/hostname' })).code).toBe('capability_refused')
    expect(failureOf(await call('read', { path: '../../etc/hostname' })).code).toBe('capability_refused')
    expect(asked).toBe(0)
  })

  test('R43 in scope and denied: the tool does not run', async () => {
    let ran = 0
    const { call } = await openScene({ tools: [testTool('runs', () => (ran += 1))], watchdog: () => ({ action: 'deny' }) })
    expect(failureOf(await call('runs', {})).code).toBe('watchdog_denied')
    expect(ran).toBe(0)
  })

  const broken: [string, Watchdog][] = [
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['hangs', () => new Promise(() => undefined)],
    ['gives nothing', () => undefined as unknown as Verdict],
    ['gives another word', () => ({ action: 'yes' }) as unknown as Verdict],
  ]
  test('a command says where its redirections lead', async () => {
    const seen: WatchedCall[] = []
    const { call } = await openScene({
      watchdog: (watched) => {
        seen.push(watched)
        return { action: 'deny' }
      },
    })
    await call('bash', { command: '{ a < i 2>&1; b; } >> "o u t"; c > "$X" > f; d > >(e)' })
    const redirects = new Map(seen[0]?.commands?.map((command) => [command.text, command.redirects]))
    expect(redirects.get('a')).toEqual([
      { operator: '>>', path: 'o u t' },
      { operator: '<', path: 'i' },
    ])
    expect(redirects.get('b')).toEqual([{ operator: '>>', path: 'o u t' }])
    expect(redirects.get('c')).toEqual([
      { operator: '>', path: null },
      { operator: '>', path: 'f' },
    ])
    expect(redirects.get('d')).toEqual([{ operator: '>', path: null }])
  })

  test.each(broken)('R44 one that %s denies', async (_how, watchdog) => {
    const { call } = await openScene({ watchdog, limits: { watchdogMs: 50 } })
    expect(failureOf(await call('todo', { todos: [] })).code).toBe('watchdog_denied')
  })

  test('R44 a rule that denies stops before it; its deny beats any rule that allows', async () => {
    let asked = 0
    const watchdog = (): Verdict => {
      asked += 1
      return { action: 'deny', reason: 'no' }
    }
    const denied = await openScene({ ...manifest([rule('todo * deny')]), watchdog })
    expect(failureOf(await denied.call('todo', { todos: [] })).code).toBe('permission_denied')
    expect(asked).toBe(0)
    const allowed = await openScene({ ...manifest([rule('todo * allow')]), watchdog })
    expect(failureOf(await allowed.call('todo', { todos: [] })).code).toBe('watchdog_denied')
  })

  test('R44 its ask is answered by a rule of the user, not by one of the manifest', async () => {
    for (const [source, prompts] of [
      ['session', 0],
      ['project', 0],
      ['manifest', 1],
    ] as const) {
      let shown = 0
      const rules = [rule('todo * allow')]
      const { call } = await openScene({
        ...manifest(source === 'manifest' ? rules : []),
        ...(source === 'manifest' ? {} : { permissions: { [source]: rules } }),
        watchdog: () => ({ action: 'ask', reason: 'sure?' }),
        host: {
          prompt: () => {
            shown += 1
            return 'allow_once'
          },
        },
      })
      expect((await call('todo', { todos: [] })).type).toBe('output')
      expect(shown, source).toBe(prompts)
    }
  })

  test('R44 both ask: one prompt, with the reason; an always ends the asking', async () => {
    const reasons: (string | undefined)[] = []
    const { call } = await openScene({
      ...manifest([rule('todo * ask')]),
      watchdog: () => ({ action: 'ask', reason: 'sure?' }),
      host: {
        prompt: ({ reason }) => {
          reasons.push(reason)
          return 'allow_always'
        },
      },
    })
    expect((await call('todo', { todos: [] })).type).toBe('output')
    expect(reasons).toEqual(['sure?'])
    expect((await call('todo', { todos: [] })).type).toBe('output')
    expect(reasons).toHaveLength(1)
  })

  test('several as one: the strictest counts', async () => {
    const as =
      (action: Verdict['action']): Watchdog =>
      () => ({ action, reason: action })
    const result = async (...verdicts: Verdict['action'][]) => {
      const { call } = await openScene({ watchdog: allWatchdogs(...verdicts.map(as)) })
      const envelope = await call('todo', { todos: [] })
      return envelope.metadata.code
    }
    expect(await result('allow', 'allow')).toBe('ok')
    expect(await result('ask', 'deny', 'allow')).toBe('watchdog_denied')
    expect(await result('allow', 'ask', 'allow')).toBe('permission_unattended')
  })
})

/** What runs a program or writes a file by an option, a script or a variable of a program that otherwise inspects. */
const starters = [
  'rg --pre sh x',
  'rg --pre=sh x',
  'rg x --pre sh',
  'rg --hostname-bin ./x y',
  'rg -z x',
  'rg --search-zip x',
  'rg "--pre" sh x',
  'rg $X y',
  'rg "$X" y',
  'rg $(echo --pre=sh) y',
  'rg x *',
  'rg {--pre=sh,x} y',
  'RIPGREP_CONFIG_PATH=x rg y',
  'LC_ALL=C RIPGREP_CONFIG_PATH=x rg y',
  'export RIPGREP_CONFIG_PATH=x; rg y',
  'bash -c "rg --pre sh x"',
  'echo a | xargs rg --pre sh',
  'find . -exec rg --pre sh x {} +',
  'env rg --pre sh x',
  'git -c core.pager=./x log',
  'git -c alias.status=!sh status',
  'git --config-env=core.pager=X log',
  'git --exec-path=. status',
  'git -p log',
  'git --git-dir=x status',
  'git -C sub status',
  'git --work-tree=x status',
  'git diff --ext-diff',
  'git log --ext-diff',
  'git show --textconv',
  'git cat-file --textconv HEAD:a',
  'git cat-file --filters HEAD:a',
  'git log --output-indicator-new=x --new-option',
  'GIT_EXTERNAL_DIFF=./x git diff',
  'GIT_PAGER=./x git log',
  'git log $X',
  'sort --compress-program=./x a',
  'sort --compress-prog ./x a',
  'sort -T x --compress-program sh a',
  'diff -l a b',
  'diff --paginate a b',
  'file -C -m x',
  'file -z x',
  'fd -x sh',
  'fd -X sh',
  'fd --exec sh',
  'fd --exec-batch=sh',
  'tree -o out',
  'tree -R -o x',
  'date -s 12:00',
  'date --set=x',
  'find . -newoption x',
  'sed 1e a',
  "sed 's/a/b/e' a",
  "sed -n '1e touch x' a",
  "sed -e p -e 'e sh' a",
  "sed '/a/w x' a",
  "sed 's/a/b/gw x' a",
  "sed 's|a|b|we' a",
  "sed 'r /dev/stdin' a",
  'sed -f script a',
  "sed '1{p;e sh\n}' a",
  "sed -i 's/a/b/e' a",
  'sed --expression="1e sh" a',
  `awk 'BEGIN { system("sh") }'`,
  `awk 'BEGIN { "sh" | getline }'`,
  `awk '{ print > "x" }' a`,
  `awk '{ print | "sh" }' a`,
  'awk -f script a',
  'gawk -l x 1 a',
  `gawk -e 'BEGIN { system("sh") }'`,
  `gawk --exec=x a`,
  `awk -v a=1 'BEGIN { f = "system"; @f("sh") }'`,
  'tar -xf a.tar --checkpoint=1 --checkpoint-action=exec=sh',
  'tar -cf a.tar --use-compress-program=./x b',
  'tar -I ./x -cf a.tar b',
  'tar -xf a.tar --to-command=sh',
  'tar -cf x -F sh -L 1 a',
  'tar xf a.tar --rsh-command=sh',
  'tar -xf a.tar $X',
  'PATH=. ls',
  'LD_PRELOAD=./x.so cat a',
  'alias ls=sh; ls',
  'cat --help-me',
]
const writers = ['git diff --output=x', 'git log --output x', 'git show --output=x HEAD', 'git diff --outpu=x']
const inspections = [
  'rg -n --hidden -g "*.ts" foo src',
  'rg -e a -A3 -C 2 x ./*',
  'rg foo -- *',
  'rg -5 foo',
  'git --no-pager log --oneline -5 --stat',
  'git diff --cached --name-only HEAD~1',
  'git log --format=%H -n 3 -- a b',
  'git show HEAD:a',
  'git status --porcelain=v1 -b',
  'git blame -L 1,5 a',
  'git ls-files -o --exclude-standard',
  'git rev-parse --show-toplevel',
  'git commit -m x',
  'git add a',
  'sort -t, -k2,2n -u a',
  'uniq -c a',
  'diff -ru a b',
  'fd -e ts foo',
  'tree -L 2 -a',
  'date +%s',
  'find . -name "*.ts" -o -type d -print0',
  'find src -exec grep -n foo {} +',
  "sed -n '1,20p;30q' a",
  "sed 's/a/b/g; s|c|d|' a",
  "sed -E '/^x/,/^y/d' a",
  "sed -n '/a/{p;q}' a",
  "awk '{ print $1 }' a",
  "awk -F: 'NR == 3 { print $2; exit }' a",
  'tar tzf a.tar.gz',
  'tar -czf a.tgz src',
  'head -5 a',
  'head -n 5 "$X"',
  'cat $X',
  'ls -la *',
  'grep -rn foo *',
  'wc -l < a',
  'jq -r .a b.json',
  'stat -c %s a',
  'du -sh .',
  '[ -f a ]',
  'test -d b',
  'echo -e "$X"',
  'printf "%s\\n" a',
]

describe('ready watchdogs', () => {
  test.each([
    ['curl http://x.test', 'deny'],
    ['(curl x)', 'deny'],
    ['true;curl x', 'deny'],
    ['echo "$(wget x)"', 'deny'],
    ['sh -c "(curl x)"', 'deny'],
    ['c\\url x', 'deny'],
    ['git push', 'deny'],
    ['npm test', 'deny'],
    ['git status', 'allow'],
    ['ls curly', 'allow'],
  ])('the network words: %s is %s', async (command, action) => {
    const watched = { tool: 'bash', args: { command } } as WatchedCall
    expect(await networkWatchdog()(watched)).toMatchObject({ action })
  })

  test('the network words leave other tools alone, and their refusal says what to do', async () => {
    const { call } = await openScene({ watchdog: networkWatchdog() })
    expect((await call('write', { path: 'a', content: 'curl http://x.test' })).type).toBe('output')
    expect(failureOf(await call('bash', { command: 'curl http://x.test' }))).toMatchObject({
      code: 'watchdog_denied',
      text: expect.stringMatching(/curl.*Work with what is on this machine/u),
    })
  })

  test.each([
    ['ls -la', 'allow'],
    ['git log --oneline', 'allow'],
    ['cat /etc/hostname', 'allow'],
    ['npm test', 'ask'],
    ['curl x.test', 'ask'],
    ['sudo ls', 'ask'],
    ['git push', 'ask'],
    ['cp a /tmp/b', 'ask'],
    ['mv a ../b', 'ask'],
    ['touch ./a', 'allow'],
    ['rm -rf /', 'deny'],
    ['rm -rf //etc', 'deny'],
    ['ls && rm -rf /usr/lib', 'deny'],
    ['dd if=/dev/zero of=/dev/sda', 'deny'],
    ['mkfs.ext4 /dev/sda1', 'deny'],
    ['tee /dev/null', 'allow'],
    ['ls > /etc/passwd', 'ask'],
    ['cat a >> /root/.bashrc', 'ask'],
    ['echo x > ../y', 'ask'],
    ['echo x >| /opt/y', 'ask'],
    ['echo x >& /opt/y', 'ask'],
    ['echo x <> /opt/y', 'ask'],
    ['echo x > ~/y', 'ask'],
    ['echo x > "$HOME/y"', 'ask'],
    ['{ ls; } > /opt/y', 'ask'],
    ['if ls; then cat a; fi > /opt/y', 'ask'],
    ['(cd b && ls) 2> /opt/y', 'ask'],
    ['> /opt/y', 'ask'],
    ['cd .. && echo x > y', 'ask'],
    ['cd /opt; touch y', 'ask'],
    ['cd; rm -r y', 'ask'],
    ['find / -delete', 'ask'],
    ['find /opt -name x -exec rm {} +', 'ask'],
    ['find . -fprint /opt/y', 'ask'],
    ['sed -i s/a/b/ /etc/hosts', 'ask'],
    ['sed -i.bak -e /a/d ../b', 'ask'],
    ['perl -pi -e s/a/b/ /opt/y', 'ask'],
    ['sort -o /etc/hosts a', 'ask'],
    ['sort --output=/etc/hosts a', 'ask'],
    ['uniq a /opt/y', 'ask'],
    ['tar -xf a.tar -C /opt', 'ask'],
    ['ls > out.txt 2>&1', 'allow'],
    ['ls 2> /dev/null < /etc/hosts', 'allow'],
    ['cd src && ls > out.txt', 'allow'],
    ['find . -name x -delete', 'allow'],
    ['find / -name x', 'allow'],
    ['sed -i /a/d b', 'allow'],
    ['sed -n 1p /etc/hosts', 'allow'],
    ['sort -o b a', 'allow'],
    ['cat <<E > out.txt\na > /etc/b\nE', 'allow'],
    ...inspections.map((line) => [line, 'allow'] as const),
    ...[...starters, ...writers].map((line) => [line, 'ask'] as const),
  ] as [string, string][])('R46 the reference policy: %s is %s', async (command, action) => {
    const asked: string[] = []
    const { call, root } = await openScene({
      watchdog: async (watched) => {
        const verdict = await commandWatchdog({ workspace: [root] })(watched)
        asked.push(verdict.action)
        return { action: 'deny', reason: 'not really' }
      },
    })
    await call('bash', { command })
    expect(asked).toEqual([action])
  })
})
