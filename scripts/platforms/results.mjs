// What a machine or a container has printed, and whether the report was true there.

/** @returns {any[]} one for each user */
export function read(log) {
  const results = [...log.matchAll(/^RESULT (\{.*\})\r?$/gmu)].map(([, json]) => JSON.parse(json))
  const failures = [...log.matchAll(/^FAILED (.*)$/gmu)].map(([, text]) => text.trim())
  if (failures.length > 0 || results.length === 0) throw new Error(failures.join('; ') || `no result in: ${log.slice(-300)}`)
  return results
}

/** The checks of a result, and what is wrong. */
export function judge(place, { levels, mechanisms, works, results }, expectation) {
  const problems = []
  for (const { layer, name, level, control, happened, began, output } of results) {
    if (happened && level === 'kernel') problems.push(`UNTRUE: ${layer} is said to be held by the kernel, but a command could ${name}`)
    else if (!began && !output.startsWith('TOOL_SANDBOX_UNAVAILABLE')) problems.push(`${name}: the attack never began: ${output}`)
    // Without the sandbox it has to work, or it proves nothing.
    else if (!control) problems.push(`${name}: it does not work without the sandbox either`)
  }
  for (const [name, isWorking] of Object.entries(works)) if (!isWorking) problems.push(`${name} does not work`)
  if (expectation === undefined) problems.push(`nothing is expected of ${place}; it says ${JSON.stringify(levels)}`)
  else {
    for (const [layer, level] of Object.entries(levels)) {
      const wanted = expectation[layer] ?? 'kernel'
      if (level !== wanted) problems.push(`${layer} is ${level}, and ${wanted} is expected: ${mechanisms[layer]}`)
    }
  }
  return { checks: results.length + Object.keys(works).length + Object.keys(levels).length, problems }
}
