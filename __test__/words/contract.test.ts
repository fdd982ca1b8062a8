// What a model reads when it errs with the contract's tools, word for word, and whether the advised move works.
import { describe, expect, test } from 'vitest'
import { makeMistake, type Mistake, openProject } from './support/contract-project.ts'

/** The mistakes that were met first; those of commands and of long outputs are in files of their own. */
const mistakes: Record<string, Mistake> = {
  'read: a file whose name differs by one letter': {
    call: ['read', { path: 'src/ap.ts' }],
    says: /File not found: `src\/ap\.ts` .*Did you mean `src\/app\.ts`\?/u,
    not: /write tool/u,
    next: ['read', { path: 'src/app.ts' }],
  },
  'read: a file outside': {
    call: ['read', { path: '/etc/passwd' }],
    says: /Use a path that is granted, most often one in the workspace/u,
    next: ['read', { path: 'src/app.ts' }],
  },
  'read: a file that is longer than one answer': {
    call: ['read', { path: 'big.log' }],
    says: /"next_offset":200000.*The file goes on: read it with offset 200000/u,
    not: /output_path/u,
    next: ['read', { path: 'big.log', offset: 200_000 }],
  },
  'read: offset and limit in lines': {
    call: ['read', { path: 'src/app.ts', offset: 3, limit: 2 }],
    says: /These are bytes 3 to 5, not lines\. Leave out offset and limit/u,
    next: ['read', { path: 'src/app.ts' }],
    gives: { content: expect.stringContaining('args.map(Number)') },
  },
  'read: file_path': {
    call: ['read', { file_path: 'src/app.ts' }],
    says: /read takes `path`, `offset`, `limit`\. `file_path` is called `path` here/u,
    not: /missing/u,
    next: ['read', { path: 'src/app.ts' }],
  },
  'read: a picture': {
    call: ['read', { path: 'img.png' }],
    says: /Binary file .*It is an image, and only text can be read/u,
    next: ['bash', { command: 'head -c 4 img.png | od -c' }],
  },
  'read: an offset past the end': {
    call: ['read', { path: 'src/math.ts', offset: 5_000 }],
    says: /end of file at 21/u,
    next: ['read', { path: 'src/math.ts', offset: 0 }],
  },
  'write: what the manifest denies': {
    call: ['write', { path: 'package-lock.lock', content: 'x' }],
    says: /the manifest rule `fs\.write \*\*\/\*\.lock` denies fs\.write of `package-lock\.lock`\. No user can allow it/u,
  },
  'write: .git/config': { call: ['write', { path: '.git/config', content: 'x' }], says: /Path is protected: .*Leave it as it is/u },
  'edit: a text that is not there': {
    call: ['edit', { path: 'src/app.ts', old_string: '  const n = args.map(parseInt)', new_string: 'y' }],
    says: /near line 4: \\"  const n = args\.map\(Number\)\\" .*Read the file again and copy the text exactly/u,
    next: ['edit', { path: 'src/app.ts', old_string: '  const n = args.map(Number)', new_string: 'y' }],
  },
  'edit: other white space': {
    call: ['edit', { path: 'src/app.ts', old_string: '    const n = args.map(Number)', new_string: 'y' }],
    says: /only white space differs/u,
    next: ['edit', { path: 'src/app.ts', old_string: '  const n = args.map(Number)', new_string: 'y' }],
  },
  'edit: a text that is there twice': {
    call: ['edit', { path: 'src/app.ts', old_string: '  return 1', new_string: '  return 2' }],
    says: /lines 9, 13.*Add surrounding lines .*, or set replace_all/u,
    next: ['edit', { path: 'src/app.ts', old_string: '  return 1', new_string: '  return 2', replace_all: true }],
  },
  'edit: the same text': {
    call: ['edit', { path: 'src/app.ts', old_string: 'return 1', new_string: 'return 1' }],
    says: /new_string must differ from old_string/u,
  },
  'edit: nothing to replace': {
    call: ['edit', { path: 'src/new.ts', old_string: '', new_string: 'export {}' }],
    says: /\/old_string is empty: to create a file use write/u,
    next: ['write', { path: 'src/new.ts', content: 'export {}' }],
  },
  'glob: an absolute pattern': {
    call: ['glob', { pattern: '/etc/*' }],
    says: /`pattern` is relative to the directory that is searched/u,
    next: ['glob', { pattern: 'src/**/*.ts' }],
    gives: { entries: ['src/app.ts', 'src/math.ts'] },
  },
  'grep: look-ahead': {
    call: ['grep', { pattern: 'a(?=b)' }],
    says: /look-around, including look-ahead and look-behind, is not supported.*Write the pattern without look-around/u,
    not: /pcre2/iu,
    next: ['grep', { pattern: 'ab' }],
  },
  'grep: output_mode and -n': {
    call: ['grep', { pattern: 'sum', output_mode: 'content', '-n': true }],
    says: /there is no `\/output_mode` and no `\/-n`; grep takes `pattern`, `path`, `glob`, `case_insensitive`\. Matches always come with path, line number and text: leave `output_mode` out\. Every match has its line number: leave `-n` out\./u,
    next: ['grep', { pattern: 'sum' }],
    gives: {
      matches: [
        { path: 'src/app.ts', line: 1 },
        { path: 'src/app.ts', line: 5 },
        { path: 'src/math.ts', line: 1 },
      ],
    },
  },
  'grep: a path that is not there': {
    call: ['grep', { pattern: 'sum', path: 'zz' }],
    says: /Check the path, or leave `path` out to search the whole workspace/u,
    not: /write/u,
    next: ['grep', { pattern: 'sum' }],
  },
  'bash: timeout': {
    call: ['bash', { command: 'true', timeout: 500 }],
    says: /there is no `\/timeout`; bash takes .*`timeout_ms`.* `timeout` is called `timeout_ms` here/u,
    next: ['bash', { command: 'true', timeout_ms: 500 }],
  },
  'bash: a workdir that is not there': {
    call: ['bash', { command: 'ls', workdir: 'nope' }],
    says: /Name an existing directory, or leave `workdir` out to run in the workspace/u,
    not: /write/u,
    next: ['bash', { command: 'ls' }],
  },
  'bash: run_in_background': {
    call: ['bash', { command: 'true', run_in_background: true }],
    says: /are stopped: run what you need in one command, with `timeout_ms`/u,
    next: ['bash', { command: 'true', timeout_ms: 5_000 }],
  },
  'todo: a status that there is not': {
    call: ['todo', { todos: [{ content: 'a', status: 'done' }] }],
    says: /does not match any of \[\\"pending\\",\\"in_progress\\",\\"completed\\"\]/u,
    next: ['todo', { todos: [{ content: 'a', status: 'completed' }] }],
  },
  'question: nobody is there': {
    call: ['question', { questions: [{ question: 'which?' }] }],
    says: /Continue with your best assumption and state it/u,
  },
  'task: without agents': { call: ['task', { subagent_type: 'x', prompt: 'y' }], says: /There is none in this session: do it yourself/u },
  'web_fetch: a host that is not granted': {
    call: ['web_fetch', { url: 'https://example.com' }],
    says: /Use another host, or go on without it/u,
  },
  'web_search: without a provider': { call: ['web_search', { query: 'x' }], says: /this host has no search provider\. Go on without/u },
  'skill: without skills': { call: ['skill', { name: 'x' }], says: /There are none in this session/u },
}

describe('a model errs', () => {
  test.each(Object.entries(mistakes))('%s', (_, mistake) => makeMistake(mistake))

  test('what cannot work is not offered in the first place', async () => {
    const { session } = await openProject()
    expect(Object.keys(session.tools).sort()).toEqual(['bash', 'edit', 'glob', 'grep', 'question', 'read', 'todo', 'web_fetch', 'write'])
  })
})
