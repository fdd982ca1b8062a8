// Progress goes to stderr: stdout belongs to the command that follows.
export function say(text) {
  process.stderr.write(`setup  ${text}\n`)
}

/** Runs one step between two lines, because the step's own output comes in between. */
export async function timed(name, work) {
  say(`${name} …`)
  const start = process.hrtime.bigint()
  await work()
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  say(`${name} … ${seconds.toFixed(1)} s`)
}
