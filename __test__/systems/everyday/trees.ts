import { npmInstall, npmPackage, type Project } from './project.ts'

const TREE = 'mkdir -p d/e/f && for n in $(seq 40); do echo $n > d/e/f/$n; ln -s $n d/e/f/l$n; done && chmod 750 d/e && chmod 755 d/e/f/1'

/** Directories that move, files that are mapped, and builds that replace whole trees. */
export const TREES: Project[] = [
  {
    name: 'mv of directories, there and back',
    prepare: TREE,
    script: 'mv d x && mkdir d && mv x/e d/e2 && mv d/e2/f . && mv f d/e2/g && rmdir x && echo new >> d/e2/g/7 && ls -R d',
  },
  {
    name: 'os.rename and shutil.move of directories',
    needs: ['python3'],
    prepare: TREE,
    files: {
      'a.py': `import os, shutil
os.rename('d', 'x')
os.rename('x/e/f', 'x/f')
shutil.move('x/f', 'y')
shutil.copytree('y', 'z', symlinks=True)
os.replace('y/2', 'y/1')
os.link('y/3', 'y/h3')
print(sorted(os.listdir('y'))[:5])
`,
    },
    script: 'python3 a.py',
  },
  {
    name: 'fs.rename and fs.cp of directories',
    needs: ['node'],
    prepare: TREE,
    files: {
      'a.mjs': `import { promises as fs } from 'node:fs'
await fs.rename('d/e', 'e')
await fs.cp('e', 'copy', { recursive: true })
await fs.rename('e/f', 'd/f')
await fs.rm('copy/f/3')
await fs.rename('copy', 'd/copy')
console.log((await fs.readdir('.', { recursive: true })).length)
`,
    },
    script: 'node a.mjs',
  },
  {
    name: 'rsync --delete and tar over a tree',
    needs: ['tar'],
    prepare: `${TREE}; mkdir other && cp -a d/e/f other/f && rm other/f/1* && echo more > other/f/new`,
    script: 'tar -C other -cf - f | tar -C d/e -xf - && for n in d/e/f/1*; do rm $n; done && cp -a other/f/. d/e/f/ && ls d/e/f | wc -l',
  },
  {
    name: 'files that are mapped and written, shared and private',
    needs: ['python3'],
    prepare: 'head -c 300000 /dev/zero > a.bin; head -c 300000 /dev/zero > b.bin',
    files: {
      'a.py': `import mmap, os
for name, flags in (('a.bin', mmap.MAP_SHARED), ('b.bin', mmap.MAP_PRIVATE)):
    with open(name, 'r+b') as file:
        view = mmap.mmap(file.fileno(), 0, flags=flags)
        view[100_000:100_005] = b'hello'
        if os.fork() == 0:
            view[200_000:200_005] = b'child'
            view.flush()
            os._exit(0)
        os.wait()
        view.flush()
        print(bytes(view[200_000:200_005]))
        view.resize(400_000) if flags == mmap.MAP_SHARED else None
`,
    },
    script: 'python3 a.py',
  },
  {
    name: 'writes in place, at an end, and over a hole',
    needs: ['python3'],
    prepare: 'seq 1 20000 > a; seq 1 20000 > b; cp a c; chmod 640 c',
    script:
      'printf XX | dd of=a bs=1 seek=5000 conv=notrunc 2>log; echo end >> b; truncate -s 1000 c; truncate -s 500000 c; fallocate -p -o 4096 -l 8192 b; sed -i 5d a; cp --reflink=auto a d; ln b b2; echo again >> b2; cat b | tail -1',
    differs: /^log$/,
  },
  {
    name: 'tsc -b over projects that refer to each other',
    needs: ['npm'],
    files: {
      'package.json': npmPackage(),
      'tsconfig.json': '{"files":[],"references":[{"path":"a"},{"path":"b"}]}',
      'a/tsconfig.json': '{"compilerOptions":{"composite":true,"outDir":"../out/a","types":[]},"files":["a.ts"]}',
      'a/a.ts': 'export const a: number = 1\n',
      'b/tsconfig.json':
        '{"compilerOptions":{"composite":true,"outDir":"../out/b","types":[]},"files":["b.ts"],"references":[{"path":"../a"}]}',
      'b/b.ts': "import { a } from '../a/a'\nexport const b: number = a + 1\n",
    },
    prepare: npmInstall('typescript@5'),
    script:
      'node_modules/.bin/tsc -b && echo "export const c = 3" >> a/a.ts && node_modules/.bin/tsc -b && node_modules/.bin/tsc -b --clean && node_modules/.bin/tsc -b && ls out/a out/b',
  },
  {
    name: 'next build',
    needs: ['npm'],
    files: {
      'package.json': npmPackage({ scripts: { build: 'next build' } }),
      'app/layout.js': 'export default function Layout({ children }) { return <html><body>{children}</body></html> }\n',
      'app/page.js': 'export default function Page() { return <p>hello</p> }\n',
    },
    prepare: npmInstall('next@15', 'react@19', 'react-dom@19'),
    script: 'export HOME=$PWD NEXT_TELEMETRY_DISABLED=1; npx next build > log 2>&1 && grep -q hello .next/server/app/index.html',
    differs: /^log$|^\.next\/|^\.(?:npm|cache|config)\/|^next-env/,
  },
  {
    name: 'npm install over what is there, and npm uninstall',
    needs: ['npm'],
    files: { 'package.json': npmPackage({ dependencies: { 'is-odd': '^3.0.1', 'left-pad': '^1.3.0' } }) },
    prepare:
      'npm install --cache ./cache --no-audit --no-fund --loglevel error && npm install --cache ./cache --no-save --loglevel error --no-audit --no-fund is-even',
    script:
      'npm install --offline --cache ./cache --no-audit --no-fund --loglevel error && npm uninstall --offline --cache ./cache --no-audit --no-fund left-pad > log && npm ls',
    differs: /^cache\/|^log$|^node_modules\/\.package-lock/,
  },
  {
    name: 'pip install into a directory, and again over it',
    needs: ['python3', 'pip3'],
    prepare: 'pip3 download -q -d wheels six && pip3 install -q --no-compile --no-index --find-links wheels --target lib six',
    script:
      'pip3 install -q --no-compile --no-index --find-links wheels --upgrade --target lib six && PYTHONPATH=lib python3 -B -c "import six; print(six.PY3)"',
    differs: /__pycache__/,
  },
]
