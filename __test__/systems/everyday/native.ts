import type { Project } from './project.ts'

const MAIN_C = 'int main(void) { return 0; }\n'
const LEAK_C = '#include <stdlib.h>\nint main(void) { volatile char *p = malloc(7); p = 0; return 0; }\n'
const RACE_C = `#include <pthread.h>
static int shared;
static void *add(void *lock) { pthread_mutex_lock(lock); shared++; pthread_mutex_unlock(lock); return 0; }
int main(void) {
  pthread_t one, two;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_create(&one, 0, add, &lock); pthread_create(&two, 0, add, &lock);
  pthread_join(one, 0); pthread_join(two, 0);
  return shared - 2;
}
`
const CMAKE = `cmake_minimum_required(VERSION 3.10)
project(everyday C)
enable_testing()
add_library(lib lib.c)
add_executable(app main.c)
target_link_libraries(app lib)
add_test(NAME app COMMAND app)
`
const CMAKE_FILES = {
  'CMakeLists.txt': CMAKE,
  'lib.c': 'int lib(void) { return 0; }\n',
  'main.c': 'int lib(void);\nint main(void) { return lib(); }\n',
}

/** Compilers, sanitizers, debuggers. */
export const NATIVE: Project[] = [
  {
    name: 'make -j4',
    needs: ['gcc', 'make'],
    files: {
      Makefile: 'OBJ = a.o b.o c.o d.o\napp: main.o $(OBJ)\n\t$(CC) -o $@ $^\ntest: app\n\t./app\n.PHONY: test\n',
      'main.c': MAIN_C,
      ...Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`${name}.c`, `int ${name}(void) { return 1; }\n`])),
    },
    script: 'make -s -j4 test',
  },
  {
    name: 'cmake and ninja, ctest',
    needs: ['cmake', 'ninja', 'gcc'],
    files: CMAKE_FILES,
    script: 'cmake -G Ninja -B build > log && cmake --build build >> log && ctest --test-dir build >> log',
    differs: /^log$|^build\/(?:\.ninja_|Testing\/|CMakeFiles\/(?:CMake\w+\.(?:log|yaml)|\d))/,
  },
  {
    name: 'cmake with the address sanitizer',
    needs: ['cmake', 'gcc'],
    files: CMAKE_FILES,
    script: 'cmake -B build -DCMAKE_C_FLAGS=-fsanitize=address > log && cmake --build build >> log && ctest --test-dir build >> log',
    differs: /^log$|^build\/(?:Testing\/|CMakeFiles\/(?:CMake\w+\.(?:log|yaml)|\d))/,
  },
  { name: 'address sanitizer', needs: ['gcc'], files: { 'a.c': MAIN_C }, script: 'gcc -fsanitize=address a.c -o a && ./a' },
  {
    name: 'leak sanitizer reports a leak',
    needs: ['gcc'],
    files: { 'a.c': LEAK_C },
    script:
      'gcc -fsanitize=address a.c -o a; ./a 2> log; echo $? > code; grep -c "7 byte(s) leaked" log > found; cat found; test "$(cat code)" != 0',
    differs: /^log$/,
  },
  { name: 'undefined behaviour sanitizer', needs: ['gcc'], files: { 'a.c': MAIN_C }, script: 'gcc -fsanitize=undefined a.c -o a && ./a' },
  {
    name: 'thread sanitizer',
    needs: ['gcc', 'setarch'],
    files: { 'a.c': RACE_C },
    script: 'gcc -fsanitize=thread -pthread a.c -o a && setarch -R ./a',
  },
  { name: 'clang', needs: ['clang'], files: { 'a.c': MAIN_C }, script: 'clang -O2 a.c -o a && ./a' },
  {
    name: 'gdb',
    needs: ['gcc', 'gdb'],
    files: { 'a.c': 'int f(int x) { return x + 1; }\nint main(void) { return f(41) - 42; }\n' },
    script:
      "gcc -g a.c -o a && gdb -q -batch -ex 'break f' -ex run -ex 'print x' -ex bt -ex continue ./a > log 2>&1; grep -q '= 41' log && grep -q 'exited normally' log",
    differs: /^log$/,
  },
  {
    name: 'gdb attaches to a process',
    needs: ['gdb'],
    script: 'sleep 60 & pid=$!; gdb -q -batch -p $pid -ex \'info proc\' > log 2>&1; kill $pid; grep -q "process $pid" log',
    differs: /^log$/,
  },
  {
    name: 'strace -f',
    needs: ['strace'],
    script: "strace -f -o log sh -c 'echo one; (echo two)' && grep -q 'exited with 0' log",
    differs: /^log$/,
  },
  {
    name: 'valgrind',
    needs: ['gcc', 'valgrind'],
    files: { 'a.c': MAIN_C },
    script: 'gcc -g a.c -o a && valgrind -q --error-exitcode=3 ./a',
  },
  {
    name: 'cargo with a build script and a procedural macro',
    needs: ['cargo'],
    files: {
      'Cargo.toml':
        '[workspace]\nmembers = ["macros"]\n[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\nbuild = "build.rs"\n[dependencies]\nmacros = { path = "macros" }\n',
      'build.rs':
        'fn main() { std::fs::write(format!("{}/made.rs", std::env::var("OUT_DIR").unwrap()), "pub const MADE: u32 = 42;").unwrap(); }\n',
      'src/main.rs':
        'include!(concat!(env!("OUT_DIR"), "/made.rs"));\nmacros::answer!();\nfn main() { println!("{}", MADE + answer()); }\n#[test]\nfn sum() { assert_eq!(MADE + answer(), 84); }\n',
      'macros/Cargo.toml': '[package]\nname = "macros"\nversion = "0.1.0"\nedition = "2021"\n[lib]\nproc-macro = true\n',
      'macros/src/lib.rs':
        'use proc_macro::TokenStream;\n#[proc_macro]\npub fn answer(_: TokenStream) -> TokenStream { "fn answer() -> u32 { 42 }".parse().unwrap() }\n',
    },
    script:
      'export CARGO_INCREMENTAL=0; cargo build -q --offline && cargo test -q --offline > log && cargo run -q --offline > out && cat out',
    differs: /^log$|^target\//,
  },
  {
    name: 'go build, test and vet without a repository',
    needs: ['go'],
    files: {
      'go.mod': 'module example.com/app\n\ngo 1.19\n',
      'main.go': 'package main\n\nimport "fmt"\n\nfunc Sum(a, b int) int { return a + b }\n\nfunc main() { fmt.Println(Sum(1, 2)) }\n',
      'main_test.go':
        'package main\n\nimport "testing"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fatal("wrong")\n\t}\n}\n',
    },
    script:
      'export GOCACHE=$PWD/.gocache GOFLAGS=-mod=mod; go build -o app . && ./app && go vet . && go test . > log && GOBIN=$PWD/bin go install .',
    differs: /^log$|^\.gocache\//,
  },
  {
    name: 'go in a repository, with the version of it',
    needs: ['go', 'git'],
    files: {
      'go.mod': 'module example.com/app\n\ngo 1.19\n',
      'main.go': 'package main\n\nfunc main() {}\n',
      '.gitignore': '/app\n/.gocache\n',
    },
    prepare: 'git init -q && git add . && git -c user.name=a -c user.email=a@localhost commit -qm first',
    script: 'export GOCACHE=$PWD/.gocache; go build -o app . && go version -m app | grep -q vcs.revision',
    differs: /^\.gocache\/|^\.git\/index$/,
  },
  {
    name: 'cgo',
    needs: ['go', 'gcc'],
    files: {
      'go.mod': 'module example.com/app\n\ngo 1.19\n',
      'main.go': 'package main\n\n// int two(void) { return 2; }\nimport "C"\nimport "os"\n\nfunc main() { os.Exit(int(C.two()) - 2) }\n',
    },
    script: 'export GOCACHE=$PWD/.gocache CGO_ENABLED=1; go run .',
    differs: /^\.gocache\//,
  },
]
