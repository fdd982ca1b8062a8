const braces = (levels: number): string => `: ${'${a:-\\) '.repeat(levels)}x${'}'.repeat(levels)}`

/** Command lines, by name, that parsers of shells have crashed at or hung in, or that lead to more lines than one. */
export const hostileLines: [string, string][] = [
  ['coproc in coproc', 'coproc '.repeat(3000)],
  ['time in time', 'time '.repeat(6000)],
  ['! in !', '! '.repeat(16_000)],
  ['functions in functions', 'f() '.repeat(8000)],
  ['function after function', 'function '.repeat(3000)],
  ['brackets that no bracket closes: $(}', '$(}'.repeat(10_000)],
  ['brackets that no bracket closes: $(]]', '$(]]'.repeat(8000)],
  ['brackets that no bracket closes: "$(}', '"$(}'.repeat(8000)],
  ['brackets that no bracket closes: ${)', '${)'.repeat(10_000)],
  ['brackets that no bracket closes: $[}', '$[}'.repeat(10_000)],
  ['escaped brackets, 20 levels', braces(20)],
  ['escaped brackets, 40 levels', braces(40)],
  ['escaped brackets, 3000 levels', braces(3000)],
  ['time -p eval', 'time -p eval '.repeat(2500)],
  ['eval in eval', 'eval '.repeat(5000)],
  ['env in env', 'env '.repeat(8000)],
  ['sudo sh -c', "sudo sh -c 'a; b' ".repeat(1800)],
  ['many commands', 'a;'.repeat(16_000)],
  ['many words', `env ${'a '.repeat(16_000)}`],
  ['many redirections', `{ ${'a > b; '.repeat(2000)} } ${'> c '.repeat(4000)}`],
  ['many substitutions', '$(a) '.repeat(6000)],
  ['many backquotes', `echo ${'`eval a` '.repeat(3500)}`],
  ['arithmetic or not', '(('.repeat(16_000)],
]
