/**
 * Options whose next argument is local: a file, a header, a limit. Options that name an endpoint (a
 * proxy, say) are left out on purpose: their argument is then judged as a target.
 */
const localOptions: Readonly<Record<string, ReadonlySet<string>>> = {
  curl: new Set(
    `-A --user-agent -b --cookie -c --cookie-jar --cacert --cert --connect-timeout -d --data --data-ascii
     --data-binary --data-raw --data-urlencode -H --header --key --max-time -o --output --retry -u --user -w
     --write-out -X --request`.split(/\s+/u),
  ),
  wget: new Set(
    `--body-data --ca-certificate --certificate --header --method -O --output-document -P --directory-prefix
     --password --post-data --timeout --tries --user --user-agent`.split(/\s+/u),
  ),
}

/** What `curl` or `wget` would fetch with these arguments. */
export function fetchTargets(program: string, args: readonly string[]): string[] {
  const local = localOptions[program]
  const targets: string[] = []
  const rest = args.values()
  for (const arg of rest) {
    if (arg === '--') return [...targets, ...rest]
    if (program === 'curl' && arg === '--url') {
      const { value } = rest.next()
      if (value !== undefined) targets.push(value)
    } else if (program === 'curl' && arg.startsWith('--url=')) {
      targets.push(arg.slice('--url='.length))
    } else if (local?.has(arg) === true) {
      rest.next()
    } else if (!arg.startsWith('-')) {
      targets.push(arg)
    }
  }
  return targets
}

/** Whether `curl` may follow a server's redirect, by an option or by a configuration file. */
export function followsRedirects(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  const options = end === -1 ? args : args.slice(0, end)
  return options.some((arg) => /^--(?:location|location-trusted|config)(?:=|$)/u.test(arg) || arg.startsWith('-K') || /^-[^-]*L/u.test(arg))
}
