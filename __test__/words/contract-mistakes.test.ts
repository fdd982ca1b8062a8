// More mistakes of the kinds that models make with the contract's tools: names of other tools' arguments, places that are
// nearly right, values in the wrong shape. Every text is kept word for word, and the move that it advises is made.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { presets, type Rule, type WebSearchProvider } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { makeMistake, type Mistake, openProject } from './support/contract-project.ts'

const provider: WebSearchProvider = {
  id: 'test',
  host: 'search.example.com',
  search: () => Promise.resolve([{ title: 't', url: 'https://example.com/', snippet: 's' }]),
}
const searching = { host: { webSearch: [provider] }, manifest: { name: 'words', requires: { net: { hosts: ['search.example.com'] } } } }
const npmTest: Rule[] = [{ permission: 'bash', pattern: 'echo ok', action: 'allow' }]
const commands = { permissions: npmTest }
const helper = { manifest: { name: 'words', agents: [{ name: 'helper' }] }, host: { spawn: () => 'done' } }

const reading: Record<string, Mistake> = {
  'a directory whose letters are exchanged': {
    call: ['read', { path: 'scr/app.ts' }],
    says: /Did you mean `src\/app\.ts`\?/u,
    next: ['read', { path: 'src/app.ts' }],
  },
  'a name in other letters': {
    call: ['read', { path: 'readme.md' }],
    says: /Did you mean `README\.md`\?/u,
    next: ['read', { path: 'README.md' }],
  },
  'a name without its ending': {
    call: ['read', { path: 'README' }],
    says: /Did you mean `README\.md`\?/u,
    next: ['read', { path: 'README.md' }],
  },
  'another ending': {
    call: ['read', { path: 'src/math.js' }],
    says: /Did you mean `src\/math\.ts`\?/u,
    next: ['read', { path: 'src/math.ts' }],
  },
  'an absolute path in the workspace': {
    call: ['read', { path: '{root}/src/ap.ts' }],
    says: /Did you mean `\/home\/u\/project\/src\/app\.ts`\?/u,
    next: ['read', { path: '{root}/src/app.ts' }],
  },
  'a file that lies elsewhere': {
    call: ['read', { path: 'server.ts' }],
    says: /Did you mean `packages\/api\/src\/server\.ts`\?/u,
    next: ['glob', { pattern: 'server.ts' }],
    gives: { entries: ['packages/api/src/server.ts'] },
  },
  'a directory': {
    call: ['read', { path: 'src' }],
    says: /It holds `app\.ts`, `math\.ts`: name a file inside it/u,
    next: ['read', { path: 'src/math.ts' }],
  },
  'the workspace itself': {
    call: ['read', { path: '.' }],
    says: /It holds `README\.md`, `big\.log`, .*`packages\/`/u,
    next: ['read', { path: 'README.md' }],
  },
  'lines by name': {
    call: ['read', { path: 'src/app.ts', start_line: 2, end_line: 4 }],
    says: /read has no line numbers: .* Leave them out/u,
    next: ['read', { path: 'src/app.ts' }],
  },
  'a number in quotes': {
    call: ['read', { path: 'src/app.ts', offset: '0' }],
    says: /give `offset` without quotes, as a number/u,
    next: ['read', { path: 'src/app.ts', offset: 0 }],
  },
  'several files at once': {
    call: ['read', { paths: ['src/app.ts', 'src/math.ts'] }],
    says: /One call reads one file: give `path`/u,
    next: ['read', { path: 'src/app.ts' }],
  },
  'an empty file': { call: ['read', { path: 'empty.txt' }], says: /The file is empty/u },
  'a file as a directory': {
    call: ['read', { path: 'package.json/name' }],
    says: /Not a directory: `package\.json\/name`.*before its end is a file/u,
    next: ['read', { path: 'package.json' }],
  },
}

const changing: Record<string, Mistake> = {
  'write: file_text': {
    call: ['write', { path: 'a.txt', file_text: 'a' }],
    says: /`file_text` is called `content` here/u,
    next: ['write', { path: 'a.txt', content: 'a' }],
  },
  'write: to a directory': {
    call: ['write', { path: 'src', content: 'a' }],
    says: /`src` is a directory .*It holds `app\.ts`, `math\.ts`: name a file inside it/u,
    next: ['write', { path: 'src/new.ts', content: 'a' }],
  },
  'write: to append': {
    call: ['write', { path: 'README.md', content: 'more\n', append: true }],
    says: /write replaces the whole file: to add to it, use edit/u,
    next: ['edit', { path: 'README.md', old_string: '# Project\n', new_string: '# Project\nmore\n' }],
  },
  'edit: old_str and new_str': {
    call: ['edit', { path: 'src/math.ts', old_str: 'sum', new_str: 'total' }],
    says: /`old_str` is called `old_string` here\. `new_str` is called `new_string` here/u,
    not: /missing/u,
    next: ['edit', { path: 'src/math.ts', old_string: 'sum', new_string: 'total' }],
  },
  'edit: replaceAll': {
    call: ['edit', { path: 'src/app.ts', old_string: 'return 1', new_string: 'return 2', replaceAll: true }],
    says: /`replaceAll` is called `replace_all` here/u,
    next: ['edit', { path: 'src/app.ts', old_string: 'return 1', new_string: 'return 2', replace_all: true }],
    gives: { replacements: 3 },
  },
  'edit: a patch': {
    call: ['edit', { path: 'src/math.ts', patch: '@@ -1 +1 @@\n-a\n+b\n' }],
    says: /edit takes no patch: give the text to replace as `old_string`/u,
    next: ['edit', { path: 'src/math.ts', old_string: 'sum', new_string: 'total' }],
  },
  'edit: several edits': {
    call: ['edit', { path: 'src/math.ts', edits: [{ old_string: 'sum', new_string: 'total' }] }],
    says: /One call makes one replacement, with `old_string` and `new_string`/u,
    next: ['edit', { path: 'src/math.ts', old_string: 'sum', new_string: 'total' }],
  },
  'edit: a file that is not there': {
    call: ['edit', { path: 'src/maths.ts', old_string: 'sum', new_string: 'total' }],
    says: /Did you mean `src\/math\.ts`\? To create a file, use write/u,
    next: ['edit', { path: 'src/math.ts', old_string: 'sum', new_string: 'total' }],
  },
}

const searchingFiles: Record<string, Mistake> = {
  'glob: wildcards in path': {
    call: ['glob', { pattern: '*.ts', path: 'src/*' }],
    says: /`path` takes no wildcards: leave it out, and give `src\/\*` as `pattern`/u,
    next: ['glob', { pattern: 'src/*' }],
    gives: { entries: ['src/app.ts', 'src/math.ts'] },
  },
  'glob: a file as path': {
    call: ['glob', { pattern: '*', path: 'src/app.ts' }],
    says: /name one, or leave `path` out/u,
    next: ['glob', { pattern: 'app.ts' }],
    gives: { entries: ['src/app.ts'] },
  },
  'glob: an absolute pattern in the workspace': {
    call: ['glob', { pattern: '{root}/src/*.ts' }],
    says: /Give `src\/\*\.ts`\./u,
    next: ['glob', { pattern: 'src/*.ts' }],
    gives: { entries: ['src/app.ts', 'src/math.ts'] },
  },
  'glob: a pattern that leads out': {
    call: ['glob', { pattern: '../**/*.ts' }],
    says: /`pattern` is relative .* `src\/\*\*\/\*\.ts`, and the directory to look in as `path`/u,
    next: ['glob', { pattern: '**/*.ts', path: 'src' }],
  },
  'glob: exclude': {
    call: ['glob', { pattern: '**/*.ts', exclude: 'packages' }],
    says: /use a narrower pattern/u,
    next: ['glob', { pattern: 'src/**/*.ts' }],
  },
  'glob: a directory that is nearly there': {
    call: ['glob', { pattern: '*.ts', path: 'package/api' }],
    says: /Did you mean `packages\/api`\?/u,
    next: ['glob', { pattern: '*.ts', path: 'packages/api' }],
  },
  'grep: wildcards in path': {
    call: ['grep', { pattern: 'sum', path: 'src/*.ts' }],
    says: /`path` takes no wildcards: leave it out, and give `src\/\*\.ts` as `glob`/u,
    next: ['grep', { pattern: 'sum', glob: 'src/*.ts' }],
    gives: { files_scanned: 2 },
  },
  'grep: -i': {
    call: ['grep', { pattern: 'SUM', '-i': true }],
    says: /`-i` is called `case_insensitive` here/u,
    next: ['grep', { pattern: 'SUM', case_insensitive: true }],
  },
  'grep: include': {
    call: ['grep', { pattern: 'sum', include: '*.ts' }],
    says: /`include` is called `glob` here/u,
    next: ['grep', { pattern: 'sum', glob: '*.ts' }],
  },
  'grep: context lines': {
    call: ['grep', { pattern: 'helper', '-C': 3 }],
    says: /grep has no context lines: read the file of the match/u,
    next: ['read', { path: 'src/app.ts' }],
  },
  'grep: a type': {
    call: ['grep', { pattern: 'sum', type: 'ts' }],
    says: /Choose files with `glob`, for example `\*\.ts`/u,
    next: ['grep', { pattern: 'sum', glob: '*.ts' }],
  },
  'grep: a glob that leads out': {
    call: ['grep', { pattern: 'sum', glob: '/etc/*' }],
    says: /`glob` is relative to the directory that is searched/u,
    next: ['grep', { pattern: 'sum', glob: 'src/**/*.ts' }],
  },
  'grep: an open bracket': {
    call: ['grep', { pattern: 'main(' }],
    says: /unclosed group.*put a backslash before/u,
    next: ['grep', { pattern: 'main\\(' }],
    gives: { matches: [{ path: 'src/app.ts', line: 2 }] },
  },
}

const others: Record<string, Mistake> = {
  'bash: cmd and cwd': {
    call: ['bash', { cmd: 'ls', cwd: 'src' }],
    says: /`cmd` is called `command` here\. `cwd` is called `workdir` here/u,
    next: ['bash', { command: 'ls', workdir: 'src' }],
  },
  'bash: args': {
    call: ['bash', { command: 'ls', args: ['-a'] }],
    says: /Write the arguments into `command`/u,
    next: ['bash', { command: 'ls -a' }],
  },
  'bash: a workdir that is nearly there': {
    call: ['bash', { command: 'ls', workdir: 'package' }],
    says: /Did you mean `packages`\?/u,
    next: ['bash', { command: 'ls', workdir: 'packages' }],
  },
  'bash: a file as workdir': {
    call: ['bash', { command: 'ls', workdir: 'README.md' }],
    says: /leave `workdir` out/u,
    next: ['bash', { command: 'ls' }],
  },
  'bash: an output that is redirected beside the rule': {
    call: ['bash', { command: 'echo ok > out.log' }],
    says: /because it redirects output to out\.log: run it without/u,
    next: ['bash', { command: 'echo ok' }],
    options: commands,
  },
  'bash: a variable beside the rule': {
    call: ['bash', { command: 'CI=1 echo ok' }],
    says: /because it sets the variable CI=1 for the command: run it without/u,
    next: ['bash', { command: 'echo ok' }],
    options: commands,
  },
  'bash: a directory outside beside the rule': {
    call: ['bash', { command: 'cd /etc && echo ok' }],
    says: /shell\.run of `cd \/etc` needs the agreement of a user/u,
    next: ['bash', { command: 'cd src && echo ok' }],
    options: commands,
  },
  'todo: the list as text': {
    call: ['todo', { todos: '[{"content":"a","status":"pending"}]' }],
    says: /give `todos` the array itself, not a text that holds one/u,
    next: ['todo', { todos: [{ content: 'a', status: 'pending' }] }],
  },
  'todo: activeForm': {
    call: ['todo', { todos: [{ content: 'a', status: 'pending', activeForm: 'b' }] }],
    says: /`activeForm` is called `active_form` here/u,
    next: ['todo', { todos: [{ content: 'a', status: 'pending', active_form: 'b' }] }],
  },
  'todo: title': {
    call: ['todo', { todos: [{ title: 'a', status: 'pending' }] }],
    says: /`title` is called `content` here/u,
    next: ['todo', { todos: [{ content: 'a', status: 'pending' }] }],
  },
  'question: one question': {
    call: ['question', { question: 'Which one?' }],
    says: /Give `questions`, an array of objects that each have a `question`/u,
    next: ['question', { questions: [{ question: 'Which one?' }] }],
    options: { host: { prompt: () => 'allow_once', question: () => [['a']] } },
  },
  'question: options as texts': {
    call: ['question', { questions: [{ question: 'Which one?', options: ['a', 'b'] }] }],
    says: /\/questions\/0\/options\/0: Instance type \\"string\\" is invalid\. Expected \\"object\\": give an object with `label`/u,
    next: ['question', { questions: [{ question: 'Which one?', options: [{ label: 'a' }] }] }],
    options: { host: { prompt: () => 'allow_once', question: () => [['a']] } },
  },
  'web_search: num_results': {
    call: ['web_search', { query: 'x', num_results: 3 }],
    says: /`num_results` is called `max_results` here/u,
    next: ['web_search', { query: 'x', max_results: 3 }],
    options: searching,
  },
  'web_search: domains': {
    call: ['web_search', { query: 'x', allowed_domains: ['example.com'] }],
    says: /Name the site in `query`/u,
    next: ['web_search', { query: 'x site:example.com' }],
    options: searching,
  },
  'task: agent_type': {
    call: ['task', { agent_type: 'helper', prompt: 'x' }],
    says: /`agent_type` is called `subagent_type` here/u,
    next: ['task', { subagent_type: 'helper', prompt: 'x' }],
    options: helper,
  },
  'task: a description': {
    call: ['task', { description: 'x', subagent_type: 'helper', prompt: 'x' }],
    says: /Leave `description` out: the agent reads `prompt` alone/u,
    next: ['task', { subagent_type: 'helper', prompt: 'x' }],
    options: helper,
  },
  'task: another agent': {
    call: ['task', { subagent_type: 'general-purpose', prompt: 'x' }],
    says: /no agent general-purpose .*helper/u,
    next: ['task', { subagent_type: 'helper', prompt: 'x' }],
    options: helper,
  },
  'a tool that there is not': {
    call: ['ls', { path: 'src' }],
    says: /There is no tool ls\. Did you mean `glob`\? The tools of this session are: .*glob/u,
    next: ['glob', { pattern: 'src/*' }],
  },
  'a tool that the host left out': {
    call: ['bash', { command: 'ls' }],
    says: /There is no tool bash\. The tools of this session are: read, write/u,
    next: ['glob', { pattern: '*' }],
    options: { tools: { except: ['bash'] } },
  },
  'a property of another case': {
    call: ['read', { Path: 'src/app.ts' }],
    says: /`Path` is called `path` here/u,
    next: ['read', { path: 'src/app.ts' }],
  },
  'a property that is misspelt': {
    call: ['grep', { patern: 'sum' }],
    says: /Did you mean `pattern`\?/u,
    next: ['grep', { pattern: 'sum' }],
  },
}

const all = [
  ['read', reading],
  ['write and edit', changing],
  ['glob and grep', searchingFiles],
  ['other tools', others],
] as const

describe.each(all)('%s', (_, mistakes) => {
  test.each(Object.entries(mistakes))('%s', (__, mistake) => makeMistake(mistake))
})

test('glob takes ./ in front of a pattern', async () => {
  const { read } = await openProject()
  expect((await read(['glob', { pattern: './src/*.ts' }])).envelope).toMatchObject({ data: { entries: ['src/app.ts', 'src/math.ts'] } })
})

test('a name is told to nobody who may not read it', async () => {
  const secret: Rule[] = [...presets.readOnly, { permission: 'fs.read', pattern: 'src/app.ts', action: 'deny' }]
  const { read } = await openProject({ permissions: secret })
  for (const call of [
    ['read', { path: 'src/ap.ts' }],
    ['read', { path: 'src' }],
  ] as const)
    expect((await read(call)).text).not.toContain('app.ts')
  expect((await read(['read', { path: 'src/maht.ts' }])).text).toContain('Did you mean `src/math.ts`?')
})

test('nothing outside of the workspace is named', async () => {
  const { read, outside, at } = await openProject()
  mkdirSync(join(outside, 'inner'))
  writeFileSync(join(outside, 'secret.txt'), '')
  symlinkSync(outside, at('out'))
  for (const path of ['out/secre.txt', 'ou/secret.txt', 'out', 'out/inne/x', '../outside/secre.txt', `${outside}/secre.txt`]) {
    for (const call of [
      ['read', { path }],
      ['grep', { pattern: 'x', path }],
      ['bash', { command: 'ls', workdir: path }],
    ] as const) {
      const { text } = await read(call)
      expect(text).toMatch(/"type":"error"/u)
      expect(text.replaceAll(path, '').replaceAll(basename(path), '')).not.toMatch(/secret|inner/u)
    }
  }
})
