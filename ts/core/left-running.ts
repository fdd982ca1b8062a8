/** What a model is told of programs that a command had left in the background: nothing for none. */
export function leftRunningNote(count: number): string | undefined {
  if (count === 0) return undefined
  const what = count === 1 ? '1 program left in the background was stopped' : `${count} programs left in the background were stopped`
  return `${what}: nothing runs on after its call. What another command is to use has to run in the same command line.`
}
