import type { Project } from './project.ts'

const PYTEST = 'def test_sum():\n    assert 1 + 2 == 3\n'
const CACHES = /__pycache__|\.pyc$|^\.pytest_cache|^log$/

/** Python, Java, Ruby, PHP, Perl. */
export const LANGUAGES: Project[] = [
  {
    name: 'python: every start method of multiprocessing, a manager, shared memory',
    needs: ['python3'],
    files: {
      'a.py': `import multiprocessing as mp
from multiprocessing import shared_memory
def double(x):
    return 2 * x
if __name__ == '__main__':
    for method in mp.get_all_start_methods():
        with mp.get_context(method).Pool(2) as pool:
            print(method, pool.map(double, range(4)))
    with mp.Manager() as manager:
        shared = manager.dict(); shared['x'] = 1; print(dict(shared))
    memory = shared_memory.SharedMemory(create=True, size=16); memory.buf[0] = 7; print(memory.buf[0]); memory.close(); memory.unlink()
`,
    },
    script: 'python3 a.py',
    differs: CACHES,
  },
  {
    name: 'python: asyncio, subprocesses, unix sockets',
    needs: ['python3'],
    files: {
      'a.py': `import asyncio
async def main():
    async def serve(reader, writer):
        writer.write(await reader.readline()); await writer.drain(); writer.close()
    server = await asyncio.start_unix_server(serve, 'a.sock')
    reader, writer = await asyncio.open_unix_connection('a.sock')
    writer.write(b'hello\\n'); print(await reader.readline()); writer.close(); server.close()
    child = await asyncio.create_subprocess_exec('echo', 'two', stdout=asyncio.subprocess.PIPE); print(await child.communicate())
asyncio.run(main())
`,
    },
    script: 'python3 a.py; r=$?; rm -f a.sock; exit $r',
    differs: CACHES,
  },
  {
    name: 'python: venv, pip offline, pytest',
    needs: ['python3', 'pip3'],
    files: { 'test_a.py': PYTEST },
    prepare: 'pip3 download -q -d wheels pytest',
    script: 'python3 -m venv env && env/bin/pip install -q --no-index --find-links wheels pytest && env/bin/pytest -q > log',
    differs: /^env\/|__pycache__|^\.pytest_cache|^log$/,
  },
  {
    name: 'python: unittest and coverage of threads',
    needs: ['python3'],
    files: { 'test_a.py': 'import unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n' },
    script: 'python3 -m unittest -q',
    differs: CACHES,
  },
  {
    name: 'uv',
    needs: ['python3', 'pip3'],
    files: {
      'pyproject.toml': '[project]\nname = "app"\nversion = "0.1.0"\nrequires-python = ">=3.8"\ndependencies = ["six"]\n',
      'a.py': 'import six\nprint(six.PY3)\n',
    },
    prepare:
      'python3 -m venv tool && tool/bin/pip install -q uv && tool/bin/uv sync -q --cache-dir ./cache --no-python-downloads && rm -rf .venv',
    script:
      'export HOME=$PWD; tool/bin/uv sync -q --offline --cache-dir ./cache --no-python-downloads && tool/bin/uv run -q --offline --cache-dir ./cache a.py',
    differs: /^cache\/|^\.venv\/|^tool\/|__pycache__|^\.(?:local|cache|config)/,
  },
  {
    name: 'poetry',
    needs: ['python3', 'pip3'],
    files: {
      'pyproject.toml':
        '[tool.poetry]\nname = "app"\nversion = "0.1.0"\ndescription = ""\nauthors = []\npackage-mode = false\n[tool.poetry.dependencies]\npython = ">=3.8"\n',
    },
    prepare: 'python3 -m venv tool && tool/bin/pip install -q "poetry<2"',
    script:
      'export HOME=$PWD POETRY_VIRTUALENVS_IN_PROJECT=true; tool/bin/poetry lock -q --no-update && tool/bin/poetry check -q; tool/bin/poetry run python -c "print(1)"',
    differs: /^tool\/|^\.venv|__pycache__|^\.(?:local|cache|config)/,
  },
  {
    name: 'java: compile, run, sockets, attach',
    needs: ['javac', 'jcmd'],
    files: {
      'A.java':
        'public class A { public static void main(String[] a) throws Exception { System.out.println(new ProcessBuilder("echo", "two").start().waitFor()); if (a.length > 0) Thread.sleep(60000); } }\n',
    },
    script:
      'javac A.java && java A && { java A wait > /dev/null & pid=$!; sleep 2; jcmd $pid VM.version > log 2>&1; r=$?; kill $pid; exit $r; }',
    differs: /^log$/,
  },
  {
    name: 'maven offline',
    needs: ['mvn', 'javac'],
    files: {
      'pom.xml':
        '<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId><version>1</version><properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties></project>\n',
      'src/main/java/A.java': 'public class A { }\n',
    },
    prepare: 'mvn -q -B -Dmaven.repo.local=$PWD/repository package && rm -rf target',
    script: 'mvn -q -B -o -Dmaven.repo.local=$PWD/repository package && ls target/classes',
    differs: /^repository\/|^target\/(?:.*\.jar$|maven-)/,
  },
  {
    name: 'ruby: sockets, fork, drb over a unix socket',
    needs: ['ruby'],
    files: {
      'a.rb': `require 'drb'
require 'drb/unix'
pid = fork { DRb.start_service('drbunix:a.drb', { x: 1 }); sleep 30 }
sleep 0.1 until File.socket?('a.drb')
begin
  puts DRbObject.new_with_uri('drbunix:a.drb')[:x]
rescue DRb::DRbConnError # it is bound, and does not listen yet
  sleep 0.1
  retry
end
Process.kill(:KILL, pid)
puts \`echo two\`
`,
    },
    script: 'ruby a.rb; r=$?; rm -f a.drb; exit $r',
  },
  {
    name: 'bundler offline',
    needs: ['bundle'],
    files: { Gemfile: "source 'https://rubygems.org'\n" },
    script: 'export HOME=$PWD; bundle config set --local path vendor > log; bundle install --local --quiet; bundle exec ruby -e "puts 1"',
    differs: /^log$|^\.bundle\/|^vendor\//,
  },
  {
    name: 'php and composer',
    needs: ['php', 'composer'],
    files: {
      'composer.json': '{"name":"a/b","autoload":{"psr-4":{"A\\\\":"src/"}}}',
      'src/B.php': '<?php\nnamespace A;\nclass B { public static function two(): int { return 2; } }\n',
      'a.php': "<?php\nrequire 'vendor/autoload.php';\necho A\\B::two(), PHP_EOL;\n",
    },
    script:
      'export HOME=$PWD COMPOSER_ALLOW_SUPERUSER=1; composer -q install && php a.php || exit; php -S 127.0.0.1:5198 > log 2>&1 & server=$!; for n in $(seq 50); do curl -sf http://127.0.0.1:5198/a.php && break; sleep .1; done; kill $server',
    differs: /^log$|^vendor\/|^composer\.lock$|^\.(?:cache|config|composer)\//,
  },
  {
    name: 'perl: prove',
    needs: ['perl', 'prove'],
    files: { 't/a.t': 'use Test::More tests => 1;\nok(1);\n' },
    script: 'prove -q > log',
    differs: /^log$/,
  },
]
