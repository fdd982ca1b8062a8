import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTools, ToolError } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { dataOf, openSession } from '../contract/scene.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'
import { isHere } from './refusals/run.ts'

// What a model reads of programs that draw is what a person would see at the end.
const onTerminal = (command: string): string => `export TERM=xterm-256color; script -qec '${command}' /dev/null`
const PACKAGE = JSON.stringify({ name: 'a', version: '1.0.0', dependencies: { b: 'file:b' } })
const DOWNLOADS = `import sys, time
names = ["base", "layer", "app"]
print("\\n".join(f"{name}: Waiting" for name in names))
for done in range(0, 101, 5):
  sys.stdout.write("\\x1b[3A" + "".join(f"\\x1b[2K{name}: [{'=' * (done // 5):<20}] {done}%\\n" for name in names)); sys.stdout.flush()
sys.stdout.write("\\x1b[3A" + "".join(f"\\x1b[2K{name}: Pull complete\\n" for name in names))
`

/** What moves the cursor, or begins what does. */
const CONTROLS = '\u001B\b\r'

interface Drawn {
  program: string
  needs: string[]
  script: string
  /** What is seen at the end. */
  seen: RegExp
  /** What was seen before. */
  gone?: RegExp
}

const DRAWN: Drawn[] = [
  {
    program: 'npm',
    needs: ['npm', 'script'],
    script: onTerminal('npm install --no-audit --no-fund --cache ./c --progress=true --color=always --offline'),
    seen: /added 1 package/u,
    gone: /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/u,
  },
  {
    program: 'pip',
    needs: ['script', 'python3'],
    script: onTerminal('python3 pip-progress.py'),
    seen: /Downloading.*100%/u,
    gone: /\b50%/u,
  },
  {
    program: 'cargo',
    needs: ['cargo', 'script'],
    script: `cd crate && CARGO_HOME=$PWD/h CARGO_TERM_PROGRESS_WHEN=always CARGO_TERM_PROGRESS_WIDTH=80 ${onTerminal('cargo build --offline --color always').replace('export ', 'export CARGO_HOME=$PWD/h CARGO_TERM_PROGRESS_WHEN=always CARGO_TERM_PROGRESS_WIDTH=80 ')}`,
    seen: /Compiling a v0\.1\.0.*\n.*Finished/u,
    gone: /Building \[/u,
  },
  {
    program: 'downloads of several lines',
    needs: ['python3'],
    script: 'python3 downloads.py',
    seen: /^base: Pull complete\nlayer: Pull complete\napp: Pull complete\n$/u,
  },
  {
    program: 'curl -#',
    needs: ['curl'],
    script: 'head -c 9000000 /dev/zero > big; curl -# -o copy file://$PWD/big; echo done',
    seen: /100\.0%\s*done/u,
  },
  { program: 'top -b', needs: ['top'], script: 'top -b -n 1', seen: /PID USER/u },
  { program: 'top', needs: ['top', 'script'], script: onTerminal('top -n 1'), seen: /PID USER.*COMMAND/u },
  {
    program: 'vim that has ended',
    needs: ['vim', 'script'],
    script: `${onTerminal('vim -u NONE -c "call setline(1, 12345)" -c redraw -c "sleep 100m" -c "qa!" new.txt')}; echo after`,
    seen: /^(?:\s*)after\n$/u,
    gone: /12345/u,
  },
  {
    program: 'vim that was killed',
    needs: ['vim', 'script', 'timeout'],
    script: `timeout -s KILL 2 ${onTerminal('vim -u NONE -c "call setline(1, 12345)" -c redraw -c "sleep 100" new.txt').replace(/^.*?; /u, 'env TERM=xterm-256color ')}`,
    seen: /\n~\n~\n[^]*"new\.txt" \[New\]?/u,
  },
  {
    program: 'less',
    needs: ['less', 'script'],
    script: `printf q | ${onTerminal('less numbers').replace(/^.*?; /u, 'env TERM=xterm-256color ')}; echo after`,
    seen: /after\n$/u,
  },
  {
    program: 'git in colours',
    needs: ['git'],
    script:
      'git init -q g; cd g; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first; git -c color.ui=always log --graph --oneline --decorate',
    seen: /^\* [0-9a-f]+ \(HEAD -> \w+\) first\n$/u,
  },
  { program: 'ls in colours', needs: [], script: 'ls --color=always numbers crate', seen: /^numbers\n\ncrate:\nCargo\.toml\nsrc\n$/u },
  {
    program: 'a progress bar',
    needs: [],
    script: String.raw`for n in $(seq 0 100); do printf '\r%3d%%' $n; done; echo; echo done`,
    seen: /^100%\ndone\n$/u,
  },
]

function prepared(): Sandbox {
  const fixture = makeSandbox()
  fixture.put('package.json', PACKAGE)
  fixture.put('b/package.json', '{"name":"b","version":"1.0.0"}')
  fixture.put('downloads.py', DOWNLOADS)
  fixture.put(
    'pip-progress.py',
    'import time\nfrom pip._vendor.rich.progress import track\nfor n in track(range(100), description="Downloading"): time.sleep(.01)\n',
  )
  fixture.put('numbers', Array.from({ length: 500 }, (_, n) => `line ${n}\n`).join(''))
  mkdirSync(join(fixture.root, 'crate/src'), { recursive: true })
  writeFileSync(join(fixture.root, 'crate/Cargo.toml'), '[package]\nname = "a"\nversion = "0.1.0"\n')
  writeFileSync(join(fixture.root, 'crate/src/lib.rs'), '')
  return fixture
}

function check({ seen, gone }: Drawn, text: string): void {
  const moves = [...text.replaceAll('\r\n', '')].filter((character) => CONTROLS.includes(character) || /[\u0080-\u009F]/u.test(character))
  expect(moves).toEqual([])
  const plain = text.replaceAll('\r\n', '\n')
  expect(plain).toMatch(seen)
  if (gone !== undefined) expect(plain).not.toMatch(gone)
}

describe.each(DRAWN)('$program', (drawn) => {
  const skips = !isHere([drawn.program, '', ...drawn.needs])

  test.skipIf(skips)('is the text of its last screen for createTools', { timeout: 60_000 }, async () => {
    const { bash } = createTools({ rootDir: prepared().root, toolTimeoutMs: 50_000, networkGuard: 'off' })
    const output: unknown = await Promise.resolve(bash.execute({ cmd: 'sh', args: ['-c', drawn.script] }, { toolCallId: 'screen' })).catch(
      (error: unknown) => (ToolError.isInstance(error) ? (error.details['output'] ?? '') : Promise.reject(error)),
    )
    check(drawn, String(output))
  })

  test.skipIf(skips)('is the same in a session', { timeout: 60_000 }, async () => {
    const session = await openSession(prepared())
    const { stdout, stderr } = dataOf<{ stdout: string; stderr: string }>(
      await session.call('bash', { command: `{ ${drawn.script}\n} 2>&1`, timeout_ms: 50_000 }),
    )
    expect(stderr).toBe('')
    check(drawn, stdout)
  })
})
