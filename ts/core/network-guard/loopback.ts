/** The web addresses that an argument is, or that it gives to an option as `--option=ADDRESS`. */
export function addressesIn(arg: string): string[] {
  const value = arg.startsWith('-') && arg.includes('=') ? arg.slice(arg.indexOf('=') + 1) : arg
  return /^https?:\/\//iu.test(value) ? [value] : []
}

/** Whether a web address names this machine: `localhost`, `*.localhost`, 127/8, `::1`, `0.0.0.0`. */
export function isLoopbackAddress(address: string): boolean {
  if (!URL.canParse(address)) return false
  const host = new URL(address).hostname.toLowerCase()
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || host === '0.0.0.0' || /^127(?:\.\d{1,3}){3}$/u.test(host)
  )
}
