import { execFileSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'

/** The project in which the mistakes are made: a small program, a long log, an image, a repository. */
export function makeProject(): Sandbox {
  const fixture = makeSandbox()
  putCommonFiles(fixture)
  fixture.put('src/app.ts', programText("import { sum } from './math.ts'\n\n", ''))
  fixture.put('src/math.ts', 'export const sum = (xs: number[]) => xs.reduce((a, b) => a + b, 0)\n')
  fixture.put('package.json', `${JSON.stringify({ name: 'project', scripts: { test: 'node -e "console.log(6 * 7)"' } })}\n`)
  fixture.put('img.png', Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from([0, 0, 0, 13]), Buffer.from('IHDR')]))
  writeFileSync(`${fixture.outside}/secret`, 'secret\n')
  symlinkSync(`${fixture.outside}/secret`, fixture.at('link'))
  const git = (...args: string[]): void => void execFileSync('git', ['-C', fixture.root, ...args], { stdio: 'ignore' })
  git('init', '-q')
  git('config', 'user.name', 'x')
  git('config', 'user.email', 'x@example.org')
  return fixture
}

/** A small program: `head` is its imports, `start` the beginning of its main function. */
export const programText = (head: string, start: string): string => `${head}export function main(args: string[]) {
${start}  const n = args.map(Number)
  console.log(sum(n))
}

export function helper() {
  return 1
}

export function other() {
  return 1
}
`

/** Files that every project has: a long one and an empty one. */
export function putCommonFiles(fixture: Sandbox): void {
  fixture.put('big.log', Array.from({ length: 30_000 }, (_, index) => `line ${index}\n`).join(''))
  fixture.put('empty.txt', '')
}
