import { npmInstall, npmPackage, type Project } from './project.ts'

const SUM_TS = 'export const sum = (a: number, b: number): number => a + b\n'
const CACHES = /^node_modules\/(?:\.cache|\.vite|\.vitest|\.package-lock)|^\.npm\/|^\.cache\/|^log$/
const HOME = 'export HOME=$PWD'

/** Node, and what comes from npm. */
export const JAVASCRIPT: Project[] = [
  {
    name: 'npm ci with an install script (esbuild)',
    needs: ['npm'],
    files: { 'package.json': npmPackage({ dependencies: { esbuild: '^0.25.0' } }) },
    prepare: 'npm install --cache ./cache --no-audit --no-fund --loglevel error && rm -rf node_modules',
    script: 'npm ci --offline --cache ./cache --no-audit --no-fund > log && node_modules/.bin/esbuild --version',
    differs: /^cache\/|^log$|^node_modules\/\.package-lock/,
  },
  {
    name: 'npm pack and run scripts',
    needs: ['npm'],
    files: {
      'package.json': npmPackage({ private: false, scripts: { pretest: 'echo pre', test: 'node -e 0' }, files: ['a.js'] }),
      'a.js': '',
    },
    script: `${HOME}; npm test > log && npm pack --ignore-scripts > log 2>&1 && test -s everyday-1.0.0.tgz`,
    differs: /^log$|\.tgz$|^\.npm\//,
  },
  {
    name: 'pnpm',
    needs: ['npm'],
    files: { 'package.json': npmPackage({ dependencies: { 'is-odd': '^3.0.1' } }) },
    prepare: `mkdir tool && cd tool && npm init -y > log && ${npmInstall('pnpm@10')} && cd .. && tool/node_modules/.bin/pnpm install --store-dir ./store --silent && rm -rf node_modules`,
    script: `${HOME}; tool/node_modules/.bin/pnpm install --offline --frozen-lockfile --store-dir ./store --silent && node -p "require('is-odd')(3)"`,
    differs: /^store\/|^node_modules\/\.(?:modules\.yaml|pnpm-workspace-state)|^\.(?:local|cache|config)\//,
  },
  {
    name: 'yarn',
    needs: ['npm'],
    files: { 'package.json': npmPackage({ dependencies: { 'is-odd': '^3.0.1' } }) },
    prepare: `mkdir tool && cd tool && npm init -y > log && ${npmInstall('yarn@1')} && cd .. && tool/node_modules/.bin/yarn install --silent --cache-folder ./store && rm -rf node_modules`,
    script: `${HOME}; tool/node_modules/.bin/yarn install --offline --frozen-lockfile --silent --cache-folder ./store && node -p "require('is-odd')(3)"`,
    differs: /^store\/|\.yarn|^node_modules\/\.yarn-integrity/,
  },
  {
    name: 'typescript',
    needs: ['npm'],
    files: {
      'package.json': npmPackage(),
      'a.ts': SUM_TS,
      'tsconfig.json': '{"compilerOptions":{"incremental":true,"outDir":"out","types":[]},"files":["a.ts"]}',
    },
    prepare: npmInstall('typescript@5'),
    script: 'node_modules/.bin/tsc -p . && node_modules/.bin/tsc -p . && ls out',
  },
  {
    name: 'tsx',
    needs: ['npm'],
    files: { 'package.json': npmPackage(), 'a.ts': `${SUM_TS}console.log(sum(1, 2))\n` },
    prepare: npmInstall('tsx@4'),
    script: 'node_modules/.bin/tsx a.ts',
  },
  {
    name: 'vite build, and a server',
    needs: ['npm', 'curl'],
    files: {
      'package.json': npmPackage({ type: 'module' }),
      'index.html': '<script type="module" src="/a.ts"></script>',
      'a.ts': `${SUM_TS}document.title = String(sum(1, 2))\n`,
    },
    prepare: npmInstall('vite@7'),
    script:
      'node_modules/.bin/vite build > log || exit; node_modules/.bin/vite --port 5199 --strictPort --host 127.0.0.1 > log 2>&1 & server=$!; for n in $(seq 100); do curl -sf http://127.0.0.1:5199/ > page && break; sleep .1; done; kill $server; wait; grep -q a.ts page && ls dist',
    differs: CACHES,
  },
  {
    name: 'vitest in processes and in threads',
    needs: ['npm'],
    files: {
      'package.json': npmPackage({ type: 'module' }),
      'a.ts': SUM_TS,
      ...Object.fromEntries(
        ['a', 'b', 'c'].map((name) => [
          `${name}.test.ts`,
          "import { expect, test } from 'vitest'\nimport { sum } from './a.ts'\ntest('sum', () => expect(sum(1, 2)).toBe(3))\n",
        ]),
      ),
    },
    prepare: npmInstall('vitest@3'),
    script: 'node_modules/.bin/vitest run --pool forks > log && node_modules/.bin/vitest run --pool threads > log',
    differs: CACHES,
  },
  {
    name: 'jest with two workers',
    needs: ['npm'],
    files: {
      'package.json': npmPackage(),
      'a.test.js': "test('sum', () => expect(1 + 2).toBe(3))\n",
      'b.test.js': "test('sum', () => expect(1 + 2).toBe(3))\n",
    },
    prepare: npmInstall('jest@29'),
    script: 'node_modules/.bin/jest -w 2 --cacheDirectory ./jest > log 2>&1',
    differs: /^jest\/|^log$/,
  },
  {
    name: 'mocha in parallel',
    needs: ['npm'],
    files: { 'package.json': npmPackage(), 'test/a.js': "it('a', () => {})\n", 'test/b.js': "it('b', () => {})\n" },
    prepare: npmInstall('mocha@11'),
    script: 'node_modules/.bin/mocha --parallel > log',
    differs: CACHES,
  },
  {
    name: 'node --test with coverage',
    files: { 'a.test.js': "const { test } = require('node:test')\ntest('a', () => {})\n" },
    script: 'node --test --experimental-test-coverage > log',
    differs: CACHES,
  },
  {
    name: 'node: children, channels, clusters, workers, unix sockets',
    files: {
      'a.mjs': `import { execFileSync, fork, spawnSync } from 'node:child_process'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { Worker } from 'node:worker_threads'
if (process.argv[2] === 'child') { process.on('message', (n) => { process.send(n + 1); process.disconnect() }) }
else if (cluster.isWorker) { const server = createServer((socket) => socket.end('hello')); server.listen('./cluster.sock') }
else {
  const child = fork(process.argv[1], ['child']); child.send(1)
  console.log((await once(child, 'message'))[0], String(execFileSync('echo', ['two'])).trim(), spawnSync('cat', { input: 'x'.repeat(300000) }).stdout.length)
  console.log((await once(new Worker('require("worker_threads").parentPort.postMessage(3)', { eval: true }), 'message'))[0])
  const worker = cluster.fork(); await once(worker, 'listening')
  const socket = connect('./cluster.sock'); console.log(String((await once(socket, 'data'))[0])); worker.kill()
}
`,
    },
    script: 'node a.mjs; r=$?; rm -f cluster.sock; exit $r',
  },
  {
    name: 'nx',
    needs: ['npm', 'git'],
    files: {
      'package.json': npmPackage(),
      'nx.json': '{"$schema":"./node_modules/nx/schemas/nx-schema.json"}',
      'packages/a/project.json': '{"name":"a","targets":{"hello":{"command":"echo hello"}}}',
    },
    prepare: `git init -q && ${npmInstall('nx@21')}`,
    script: `${HOME}; export NX_NO_CLOUD=true; node_modules/.bin/nx show projects > out 2> log && grep -x a out && node_modules/.bin/nx run a:hello > log 2>&1; r=$?; node_modules/.bin/nx daemon --stop > log 2>&1; exit $r`,
    differs: /^log$|^\.nx\/|^\.git\/|^\.(?:npm|cache|config)\//,
  },
  {
    name: 'eslint and prettier',
    needs: ['npm'],
    files: { 'package.json': npmPackage({ type: 'module' }), 'eslint.config.js': 'export default []\n', 'a.js': 'const a=1;export{a}\n' },
    prepare: npmInstall('eslint@9', 'prettier@3'),
    script: 'node_modules/.bin/prettier --write a.js > log && node_modules/.bin/eslint --cache a.js && cat a.js',
    differs: /^log$|^\.eslintcache$/,
  },
  {
    name: 'chromium by playwright',
    needs: ['npm', 'chromium'],
    files: {
      'package.json': npmPackage({ type: 'module' }),
      'a.mjs': `import { createServer } from 'node:http'
import { chromium } from 'playwright-core'
const server = createServer((_, to) => to.setHeader('content-type', 'text/html').end('<title>hello</title>')).listen(0)
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] })
const page = await browser.newPage()
await page.goto('http://127.0.0.1:' + server.address().port)
console.log(await page.title(), (await page.screenshot()).length > 100)
await browser.close(); server.close()
`,
    },
    prepare: npmInstall('playwright-core@1'),
    script: `${HOME}; CHROMIUM=$(command -v chromium) node a.mjs`,
    differs: /^\.(?:cache|config|pki|local)\//,
  },
  {
    name: 'webpack and a dev server',
    needs: ['npm'],
    files: { 'package.json': npmPackage(), 'src/index.js': "console.log('hello')\n" },
    prepare: npmInstall('webpack@5', 'webpack-cli@6'),
    script: 'node_modules/.bin/webpack --mode production > log && ls dist',
    differs: CACHES,
  },
  {
    name: 'native addon (sharp)',
    needs: ['npm'],
    files: {
      'package.json': npmPackage(),
      'a.cjs':
        "require('sharp')({ create: { width: 8, height: 8, channels: 3, background: 'red' } }).png().toFile('a.png').then((it) => console.log(it.width))\n",
    },
    prepare: npmInstall('sharp@0.34'),
    script: 'node a.cjs',
  },
]
